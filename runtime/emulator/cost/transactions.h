// The memory cost of warps' requests: sectors of global memory and wavefronts of shared memory.
#pragma once
#include <array>
#include <vector>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

/// The memory transactions of a request, and the least number for the same number of bytes.
struct Transactions {
  int units = 0, ideal = 0;
};
Transactions sectors_of(const std::array<u64, kLanes>& address, Mask mask, int bytes);
Transactions wavefronts_of(const std::array<u64, kLanes>& address, Mask mask, int bytes, bool is_load);

/// The number of distinct 32-byte sectors of global memory that the lanes access.
int count_sectors(const std::array<u64, kLanes>& address, Mask mask, int bytes);
/// The number of lanes that a request to shared memory serves at once: 32, 16 or 8 for 4, 8 or 16 bytes; for loads twice as many if each
/// lane reads the same as its neighbour, or as the lane after that. Measured on an H100: tests/ptx/shared_wavefronts_h100.txt.
int lanes_a_phase(const std::array<u64, kLanes>& address, Mask mask, int bytes, bool is_load);
/// The number of wavefronts of shared memory: in each, every one of its 32 banks delivers one word of 4 bytes to the `lanes` of a phase.
int count_wavefronts(const std::array<u64, kLanes>& address, Mask mask, int bytes, int lanes);

/// A request of all lanes whose addresses were valid. It represents all requests whose addresses differ from its addresses by a multiple of
/// 128 bytes: they have the same alignment and cost.
struct RequestShape {
  static constexpr u64 kPeriod = 128;

  std::array<s32, kLanes> distance{};  // from the first lane's address to each lane's address
  s64 lowest = 0, highest = 0;         // of these distances
  Transactions transactions;
  // For each distinct address, in order of the first lane that accesses it: this lane, and the only lane, or kLanes if there are several.
  int addresses = 0;
  std::array<u8, kLanes> first_lane{}, only_lane{};

  /// Whether no two lanes have the same address. If addresses are aligned, this means that no two lanes access the same byte.
  bool is_apart() const { return addresses == kLanes; }
  // Whether aligned groups of consecutive lanes (the group's size divides its first lane) share whole sectors of 32 bytes in equal parts.
  bool has_whole_sectors = false;
};

/// A cache of the shapes of requests: an instruction usually has the same shape each time.
class RequestShapes {
 public:
  /// Combines the instruction, the kind of access (spaces and widths may differ), and the first lane's address.
  using Key = u64;
  static Key key_of(u32 instruction, int space, int bytes, u64 first) {
    return u64{instruction} << 32 | static_cast<u64>(bytes) << 16 | static_cast<u64>(space) << 8 | (first % RequestShape::kPeriod) | kUsed;
  }
  /// The cached shape; null if the last request with this key had another shape.
  const RequestShape* find(Key, const std::array<u64, kLanes>& address) const;
  /// Adds the shape of these addresses; null if they could wrap around or are far apart. Requires: all addresses are valid.
  const RequestShape* remember(Key, const std::array<u64, kLanes>& address, int bytes, Transactions);

 private:
  static constexpr Key kUsed = u64{1} << 7;
  static constexpr std::size_t kEntries = 512;
  struct Entry {
    Key key = 0;
    RequestShape shape;
  };
  /// The entry of the key, one of two, or the entry to replace.
  std::size_t entry_of(Key key) const {
    const std::size_t first = (key * 0x9e3779b97f4a7c15u >> 32) % kEntries;
    return entries_[first].key == key || entries_[first].key == 0 ? first : first ^ 1;
  }
  std::vector<Entry> entries_;  // empty until the first shape is added
};

}  // namespace tilewright::rt::emulator
