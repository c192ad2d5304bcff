// From the addresses of a warp to bytes of the host: spaces, bounds, alignment and the counts of transactions.
#pragma once
#include <array>
#include <cstddef>
#include <optional>

#include "runtime/emulator/races/race_check.h"
#include "runtime/emulator/simd/lanes.h"
#include "runtime/emulator/state/launch.h"
#include "runtime/emulator/state/report.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {

enum class Access : u8 { read, write, update };

/// Where the lanes of a warp access memory.
struct Places {
  Space space = Space::global;
  Mask mask = 0;                           // lanes whose address is good
  std::array<std::byte*, kLanes> at;       // of the host
  std::array<u64, kLanes> address;         // in the space: an offset for all but global
  std::array<const Range*, kLanes> range;  // global: the allocation, unless all lanes are in the same one
  const Range* one_range = nullptr;        // which is that
  const RequestShape* shape = nullptr;     // of a request of all lanes that was seen before; good until the next request
  Block* block = nullptr;                  // the executing one
  Mask remote = 0;                         // shared: lanes whose place is another block's
  std::array<Block*, kLanes> remote_block;

  const Range& range_of(int lane) const { return one_range != nullptr ? *one_range : *range[static_cast<std::size_t>(lane)]; }
  Block& owner(int lane) const { return has_lane(remote, lane) ? *remote_block[static_cast<std::size_t>(lane)] : *block; }
};

/// The addresses of an instruction: base slot plus constant.
Lanes<u64> addresses_of(const Warp&, bool is_short, s32 slot, u64 offset);
inline Lanes<u64> addresses_of(const Warp& warp, const Instruction& i, s32 slot, u64 offset) {
  return addresses_of(warp, i.short_address, slot, offset);
}

/// Finds the places of `bytes` bytes at each address and calls f(places) for every space that there are lanes in. Lanes that are
/// misaligned or out of bounds are reported, and left out. Counts the transactions of the request.
template <class F>
void locate(Warp&, const Instruction&, Mask, const Lanes<u64>& address, Space, int bytes, F f);

/// The places in one space that is not generic.
Places locate_in(Warp&, const Instruction&, Mask, const Lanes<u64>& address, Space, int bytes);
/// The lanes whose generic address lies in this space; `address` becomes the space's own.
Mask split_generic(Mask, Lanes<u64>& address, Space);

template <class F>
void locate(Warp& warp, const Instruction& i, Mask mask, const Lanes<u64>& address, Space space, int bytes, F f) {
  if (space != Space::generic) {
    const Places places = locate_in(warp, i, mask, address, space, bytes);
    if (places.mask != 0) f(places);
    return;
  }
  for (const Space part : {Space::global, Space::shared, Space::local, Space::param}) {
    Lanes<u64> own = address;
    const Mask lanes = split_generic(mask, own, part);
    if (lanes == 0) continue;
    const Places places = locate_in(warp, i, lanes, own, part, bytes);
    if (places.mask != 0) f(places);
  }
}

/// Checks the accesses of a request before they are done, where accesses are checked.
class RequestCheck {
 public:
  RequestCheck(const Accessor& by, const Places& places) : by_(by), places_(places) {
    if (!by.warp->worker->launch->check) return;
    if (places.space == Space::shared) shared_.emplace(by, *by.warp->block);
    if (places.space == Space::global) global_.emplace(by);
  }
  void read(int lane, int bytes);
  /// `value` is what the lane writes, null if it is not known.
  void write(int lane, int bytes, const std::byte* value);
  /// By all lanes.
  void read(int bytes);
  /// See GlobalCheck::expect_unwritten.
  void expect_unwritten(int bytes) {
    if (global_) global_->expect_unwritten(places_, bytes);
  }
  /// By all lanes, of which no two write the same bytes; `values` has those of lane 0 first, and may be null. False, and nothing is done,
  /// if two may do so: then each lane has to have written before the next one is checked.
  bool write_apart(int bytes, const std::byte* values);

 private:
  const Accessor& by_;
  const Places& places_;
  std::optional<SharedCheck> shared_;
  std::optional<GlobalCheck> global_;
};

/// Of one lane alone.
inline void check_read(const Accessor& by, const Places& places, int lane, int bytes) { RequestCheck(by, places).read(lane, bytes); }
inline void check_write(const Accessor& by, const Places& places, int lane, int bytes, const std::byte* value) {
  RequestCheck(by, places).write(lane, bytes, value);
}

/// The warp looked at memory that it may wait for.
void poll(Warp&, const Instruction&, const Places&, int bytes);

/// The allocation that an address lies in, null if there is none, and what to say of an access that is out of bounds.
const Range* global_range(Worker&, u64 address);
std::string describe_global(Worker&, u64 address, u64 bytes);

/// Global memory that is tracked counts as written, or has to be; reads of other bytes are reported.
void check_tracked(Warp&, const Instruction&, const Places&, int bytes, Access);
inline void check_written(Warp& warp, const Instruction& i, const Places& places, int bytes, Access access) {
  const bool is_tracked = places.space == Space::global && (places.one_range == nullptr || places.one_range->written != nullptr);
  if (is_tracked) check_tracked(warp, i, places, bytes, access);
}

}  // namespace tilewright::rt::emulator
