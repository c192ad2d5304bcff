// What the requests of warps cost memory: sectors of global memory and wavefronts of shared memory.
#pragma once
#include <array>
#include <vector>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

/// What the memory does for a request, and the least that it would do for as many bytes.
struct Transactions {
  int units = 0, ideal = 0;
};
Transactions sectors_of(const std::array<u64, kLanes>& address, Mask mask, int bytes);
Transactions wavefronts_of(const std::array<u64, kLanes>& address, Mask mask, int bytes, bool is_load);

/// Distinct 32-byte sectors of global memory that the lanes touch.
int count_sectors(const std::array<u64, kLanes>& address, Mask mask, int bytes);
/// The lanes that a request to shared memory serves in one go: 32, 16 or 8 for 4, 8 or 16 bytes; of a load twice as many where each reads
/// what its neighbour does, or the one after that. As measured on an H100: tests/ptx/shared_wavefronts_h100.txt.
int lanes_a_phase(const std::array<u64, kLanes>& address, Mask mask, int bytes, bool is_load);
/// Wavefronts of shared memory: its 32 banks of 4 bytes each give one word at a time to the `lanes` of a phase.
int count_wavefronts(const std::array<u64, kLanes>& address, Mask mask, int bytes, int lanes);

/// A request of all lanes whose addresses were good, and with it all those whose addresses differ from it by a multiple of 128 bytes:
/// they are as aligned, and cost the same.
struct RequestShape {
  static constexpr u64 kPeriod = 128;

  std::array<s32, kLanes> distance{};  // of each lane's address from the first lane's
  s64 lowest = 0, highest = 0;         // of these
  Transactions transactions;
  // Of each distinct address, in order of the first lane that accesses it: this lane, and the only one, or kLanes for several lanes.
  int addresses = 0;
  std::array<u8, kLanes> first_lane{}, only_lane{};

  /// Whether no two lanes are at the same address. Requires for it to mean that they touch nothing in common: addresses are aligned.
  bool is_apart() const { return addresses == kLanes; }
  // Whether lanes with numbers in a row, of which the first is a multiple of their number, share whole sectors of 32 bytes in equal parts.
  bool has_whole_sectors = false;
};

/// A cache of the shapes of requests: an instruction usually has the same shape each time.
class RequestShapes {
 public:
  /// By instruction, what it accesses (of one instruction, spaces and widths differ), and the first lane's address.
  using Key = u64;
  static Key key_of(u32 instruction, int space, int bytes, u64 first) {
    return u64{instruction} << 32 | static_cast<u64>(bytes) << 16 | static_cast<u64>(space) << 8 | (first % RequestShape::kPeriod) | kUsed;
  }
  /// Null if the last request with the key was of another shape.
  const RequestShape* find(Key, const std::array<u64, kLanes>& address) const;
  /// The shape of these addresses, null if some could wrap around or are far apart. Requires: all addresses are good.
  const RequestShape* remember(Key, const std::array<u64, kLanes>& address, int bytes, Transactions);

 private:
  static constexpr Key kUsed = u64{1} << 7;
  static constexpr std::size_t kEntries = 512;
  struct Entry {
    Key key = 0;
    RequestShape shape;
  };
  /// Where the key is, or is to be: one of two entries.
  std::size_t entry_of(Key key) const {
    const std::size_t first = (key * 0x9e3779b97f4a7c15u >> 32) % kEntries;
    return entries_[first].key == key || entries_[first].key == 0 ? first : first ^ 1;
  }
  std::vector<Entry> entries_;  // empty until there is one
};

}  // namespace tilewright::rt::emulator
