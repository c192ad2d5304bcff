// Finds the registers that wgmma works on while the warp goes on, and the instructions that touch them.
#pragma once
#include <span>

#include "runtime/emulator/program/decoder.h"

namespace tilewright::rt::emulator {

/// Numbers the registers of accumulators and of operands a that the instructions from `begin` on give to wgmma, and those that `mov`
/// copies them to, and has every other instruction that touches one check it first.
void track_matrix_registers(std::span<const Value>, std::span<const OperandUse>, u32 begin, Kernel&);

/// Executes an instruction that touches such registers, after the check.
void touch_matrix_registers(Warp&, const Instruction&, Mask);

}  // namespace tilewright::rt::emulator
