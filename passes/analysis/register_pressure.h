// How many registers a thread will want at once, before there is code: what occupancy and refusals go by.
#pragma once
#include <string>

#include "passes/ir_names.h"
#include "tileir/target/target_desc.h"

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

/// How many programs an SM should hold at once, at least 1, if the guess of registers is half of what a thread can have or more: as many as
/// warps, shared memory and twice the guess allow. Told of it (.minnctapersm), ptxas gives a thread up to the registers that this leaves;
/// else it falls to 32 where it cannot have all that it wants. 0: it finds a good number by itself.
int blocks_per_sm(const ir::Function&, const ir::TargetDesc&, int num_warps, std::int64_t shared_bytes);

/// If the tiles are too large for the threads: which one, where it is made, and how many warps would do. Else empty.
std::string too_large(const ir::Function&, const ir::TargetDesc&, int num_warps);

}  // namespace tilewright::passes
