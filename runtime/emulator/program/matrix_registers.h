// Finds the registers that wgmma uses while the warp continues, and the instructions that access them.
#pragma once
#include <span>

#include "runtime/emulator/program/decoder.h"

namespace tilewright::rt::emulator {

/// Numbers the registers of accumulators and of operands a of wgmma in the instructions from `begin` on, and registers to which `mov`
/// copies them. Every other instruction that accesses one of them first calls the check.
void track_matrix_registers(std::span<const Value>, std::span<const OperandUse>, u32 begin, Kernel&);

/// Executes an instruction that accesses such registers, after the check.
void touch_matrix_registers(Warp&, const Instruction&, Mask);

}  // namespace tilewright::rt::emulator
