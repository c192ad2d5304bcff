// Finds what the next program of a thread will load.
#pragma once
#include "backend/host/emitter.h"

namespace tilewright::backend::host {

/// i64: how many bytes further the next program along axis 0 of the grid finds the element at a pointer, if its other numbers are the same:
/// x / n is taken to stay as it is, and x % n not to begin again. Null if nothing is known, or if the programs share the memory.
Value* distance_to_next_program(Emitter&, ValueId pointer);

/// The loads of the function's body, in any earlier step, whose tiles this loop nest is the first one to read from their buffers. While it
/// computes, the processor has time to fetch what the next program loads.
std::vector<OpId> loads_before(const Function&, const EvaluationPlan&, const Step&);

}  // namespace tilewright::backend::host
