// Registers that wgmma works on while the warp goes on: who may touch them when.
#pragma once
#include "runtime/emulator/program/decoder.h"
#include "runtime/emulator/state/warp.h"

namespace tilewright::rt::emulator {

/// Whether the instruction is a wgmma.
inline bool is_product(const Kernel& kernel, u32 instruction) { return kernel.opcodes[instruction].starts_with("wgmma.mma_async"); }

/// Numbers the registers of accumulators and of operands a that the instructions from `begin` on give to wgmma, and those that `mov`
/// copies them to, and has every other instruction that touches one check it first.
void track_matrix_registers(std::span<const Value>, std::span<const Mention>, u32 begin, Kernel&);

/// A wgmma of a shape takes its registers, which become a part of the group that is not committed yet.
void take_matrix_registers(Warp&, const Instruction&, u32 shape);
/// wgmma.fence: accesses so far are done before those of wgmma that follow.
void fence_matrix_registers(Warp&);

}  // namespace tilewright::rt::emulator
