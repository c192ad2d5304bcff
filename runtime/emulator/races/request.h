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
  Mask mask = 0;                           // lanes with valid addresses
  std::array<std::byte*, kLanes> at;       // addresses in the host
  std::array<u64, kLanes> address;         // addresses in the space; offsets, except for global memory
  std::array<const Range*, kLanes> range;  // global: each lane's allocation, unless all lanes are in the same one
  const Range* one_range = nullptr;        // the allocation of all lanes, if it is the same
  const RequestShape* shape = nullptr;     // if a request of all lanes with this shape was seen before; valid until the next request
  Block* block = nullptr;                  // the executing block
  Mask remote = 0;                         // shared: lanes that access the memory of another block
  std::array<Block*, kLanes> remote_block;

  const Range& range_of(int lane) const { return one_range != nullptr ? *one_range : *range[lane]; }
  Block& owner(int lane) const { return has_lane(remote, lane) ? *remote_block[lane] : *block; }
};

}  // namespace tilewright::rt::emulator
