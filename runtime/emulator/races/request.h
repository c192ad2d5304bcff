// A request: the locations in one space that the lanes of a warp access together.
#pragma once
#include <array>
#include <cstddef>

#include "runtime/emulator/cost/transactions.h"
#include "runtime/emulator/shadow/global_shadow.h"
#include "runtime/emulator/simd/lanes.h"
#include "runtime/emulator/state/block.h"

namespace tilewright::rt::emulator {

/// A located request: its addresses have been checked.
struct Request {
  Space space = Space::global;
  Mask mask = 0;                           // lanes whose address is good
  std::array<std::byte*, kLanes> at;       // of the host
  std::array<u64, kLanes> address;         // in the space: an offset for all but global
  std::array<const Range*, kLanes> range;  // global: the allocation, unless all lanes are in the same one
  const Range* one_range = nullptr;        // which is that
  const RequestShape* shape = nullptr;     // of a request of all lanes that was seen before; good until the next request
  Block* block = nullptr;                  // the executing one
  Mask remote = 0;                         // shared: lanes that access another block's
  std::array<Block*, kLanes> remote_block;

  const Range& range_of(int lane) const { return one_range != nullptr ? *one_range : *range[lane]; }
  Block& owner(int lane) const { return has_lane(remote, lane) ? *remote_block[lane] : *block; }
};

}  // namespace tilewright::rt::emulator
