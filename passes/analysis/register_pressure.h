// Register pressure, estimated before code generation: the basis of occupancy and of the refusal of tiles that are too large.
#pragma once
#include <cstdint>
#include <string>

#include "passes/ir_names.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes {

/// An estimate from the live tiles: data counts in full; indices, masks and addresses count by a quarter, since most are a thread index
/// plus a constant.
struct RegisterPressure {
  int registers = 0;    // 32-bit registers of a thread, at the op of highest pressure
  ir::OpId at;          // that op
  ir::ValueId largest;  // the tile that takes most of them
  int largest_registers = 0;
};
/// Requires: a distributed function.
RegisterPressure register_pressure(const ir::Function&);

/// 32-bit words that the tiles of a program hold at once where they hold most, before layouts are assigned. Of data: indices, masks and
/// addresses are left out, so that extents make no difference, and a broadcast tile counts as what it repeats.
std::int64_t live_data_words(const ir::Function&);

/// How many programs an SM should hold at once, if the estimate is at least half of the registers that a thread can have: as many as warps,
/// shared memory and twice the estimate allow, at least 1. With this number (.minnctapersm) ptxas gives a thread up to the registers that
/// remain; without it ptxas may fall to 32 if it cannot have all that it wants. 0: ptxas chooses a good number by itself.
/// Measured with ptxas 13.0.88 for sm_80 (2026-11-24) on 730 compilations of the kernels of tests/programs, 39 of them with a number, and
/// on 30 of the product of tests/bench: one tf32 product spills 316 bytes with its number and 308 without, no other kernel spills more;
/// without it an int8 product of odd rows falls to 32 registers and 5976 bytes of spills (with it 255 and 1600). ptxas takes at most 1.2
/// times the estimate where it spills nothing.
int blocks_per_sm(const ir::Function&, const ir::TargetDesc&, int num_warps, std::int64_t shared_bytes);

/// If the tiles are too large for the threads: a message with the largest tile, its location and a sufficient number of warps. Else empty.
std::string too_large(const ir::Function&, const ir::TargetDesc&, int num_warps);

}  // namespace tilewright::passes
