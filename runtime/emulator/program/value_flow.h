// Says how the results of instructions depend on operands with undefined bytes.
#pragma once
#include <span>

#include "runtime/emulator/program/decoder.h"

namespace tilewright::rt::emulator {

/// Fills Kernel::flows for the instructions from `begin` on. Requires: registers have slots.
void find_value_flow(std::span<const Value>, std::span<const OperandUse>, u32 begin, Kernel&);

}  // namespace tilewright::rt::emulator
