// Kernels that write an operand of a concatenation to its place in the whole. Where that begins is an argument, so that operands which are
// computed alike have one kernel.
#pragma once
#include <span>
#include <string>

#include "passes/fusion/graph/segments.h"
#include "passes/fusion/plan/plan.h"
#include "passes/fusion/program/program.h"
#include "passes/fusion/translate/graph_to_exprs.h"

namespace tilewright::passes::fusion {

/// The value of an operand at its place in `whole`.
KernelOutput joined_output(const graph::Graph&, const JoinedPart&, std::string name, Tensor whole, BoundValue, ExprBuilder&);

/// Gives kernels that were derived for such a part, or for one like it, what is this part's own.
void place(const JoinedPart&, int buffer_of_whole, std::span<ProgramKernel>);

}  // namespace tilewright::passes::fusion
