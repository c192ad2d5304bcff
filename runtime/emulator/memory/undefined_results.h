// Finds the undefined bytes of results that an instruction computes only from its sources.
#pragma once
#include "runtime/emulator/program/value_flow.h"
#include "runtime/emulator/state/undefined_values.h"

namespace tilewright::rt::emulator {

struct Warp;
struct Instruction;

/// The bytes of the instruction's result `destination` that are undefined after it, in each lane. `mask`: the lanes that execute it.
UndefinedLanes undefined_result(const Warp&, const Instruction&, const FlowOperand& destination, Mask mask);

}  // namespace tilewright::rt::emulator
