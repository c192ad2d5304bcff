// Special registers of PTX: their values for each thread of a launch.
#pragma once
#include <array>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

struct Block;
struct LaunchState;
struct Warp;

/// The coordinates of element k; the first coordinate varies fastest.
std::array<u32, 3> coordinates_of(u64 k, const std::array<u32, 3>& extents);

/// Fills the special registers that name the thread or describe the launch. They keep their values when the warp runs another block.
void fill_thread_registers(const LaunchState&, const Block&, Warp&);
/// Fills the special registers that name the block and its coordinate and rank in the cluster.
void fill_block_registers(const LaunchState&, const Block&, Warp&);

}  // namespace tilewright::rt::emulator
