// How many registers a thread will want at once, before there is code: what occupancy and refusals go by.
#pragma once
#include <string>

#include "tileir/ir.h"
#include "tileir/target_desc.h"

namespace tilewright::passes {

/// A guess from the tiles that are live: data in full; indices, masks and addresses, most of which are a thread's number and a constant,
/// by a quarter.
struct RegisterPressure {
  int registers = 0;       // 32-bit ones of a thread, at the worst place
  ir::OpId at;             // that place
  ir::ValueId largest;     // the tile that takes most there
  int largest_registers = 0;
};
/// Requires: a distributed function.
RegisterPressure register_pressure(const ir::Function&);

/// How many programs an SM should hold at once, at least 1: as many as warps, shared memory and the guess of registers allow. Told to ptxas
/// (.minnctapersm), it gives a thread the registers that this leaves, which is never less than what it wants if it can have that at all.
int blocks_per_sm(const ir::Function&, const ir::TargetDesc&, int num_warps, std::int64_t shared_bytes);

/// If the tiles are too large for the threads: which one, and how many warps would do. Else empty.
std::string too_large(const ir::Function&, const ir::TargetDesc&, int num_warps);

}  // namespace tilewright::passes
