// Kernels that write an operand of a concatenation to its part of the result. The position at which that part begins is an argument, so
// that operands which are computed alike have one kernel.
#pragma once
#include <span>
#include <string>

#include "passes/fusion/plan/loop_plan.h"
#include "passes/fusion/segments/segment.h"
#include "passes/fusion/sequence/kernel_sequence.h"
#include "passes/fusion/translate/graph_to_exprs.h"

namespace tilewright::passes::fusion {

/// The value of an operand, as an output that is its part of `whole`.
KernelOutput joined_output(const graph::Graph&, const JoinedPart&, std::string name, Tensor whole, BoundValue, ExprBuilder&);

/// Sets the buffer and the start for this part in kernels that were derived for it or for an equal part.
void set_begin(const JoinedPart&, int buffer_of_whole, std::span<SequenceKernel>);

}  // namespace tilewright::passes::fusion
