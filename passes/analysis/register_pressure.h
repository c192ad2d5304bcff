// Estimates register pressure before code generation: for occupancy, and for the refusal of tiles that are too large.
#pragma once
#include <cstdint>
#include <string>

#include "passes/ir_names.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes {

/// An estimate from the live tiles: data counts fully; indices, masks and addresses count as a quarter, since most are a thread index plus
/// a constant.
struct RegisterPressure {
  int registers = 0;    // 32-bit registers of a thread at the op of highest pressure
  ir::OpId at;          // the op at which the pressure is greatest
  ir::ValueId largest;  // the tile that needs most of them
  int largest_registers = 0;
};
/// Requires: a distributed function.
RegisterPressure register_pressure(const ir::Function&);

/// The most 32-bit words that the tiles of a program hold at once, before layouts are assigned. Only data counts, not indices, masks and
/// addresses, so that extents make no difference; a broadcast tile counts as the tile that it repeats.
std::int64_t live_data_words(const ir::Function&);

/// How many programs an SM should hold at once, if the estimate is at least half of the registers that a thread can have: as many as warps,
/// shared memory and twice the estimate allow, at least 1. Given this number (.minnctapersm), ptxas may use all registers that remain;
/// without it ptxas may fall to 32 if it cannot have all that it wants. 0: ptxas chooses a good number by itself.
/// Measured with ptxas 13.0.88 for sm_80 (2026-11-24) on 730 compilations of the kernels of tests/programs, 39 of them with a number, and
/// on 30 of the product of tests/bench: one tf32 product spills 316 bytes with its number and 308 without, no other kernel spills more;
/// without it an int8 product of odd rows falls to 32 registers and 5976 bytes of spills (255 and 1600 with it). ptxas needs at most 1.2
/// times the estimate where it does not spill.
int blocks_per_sm(const ir::Function&, const ir::TargetDesc&, int num_warps, std::int64_t shared_bytes);

/// A message if the tiles are too large for the threads: the largest tile, its location and a sufficient number of warps. Else an empty text.
std::string too_large(const ir::Function&, const ir::TargetDesc&, int num_warps);

}  // namespace tilewright::passes
