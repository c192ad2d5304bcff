// A kernel whose loop several programs divide: it becomes two, of which the first one stores the states of the parts of the loop, and the
// second one merges them.
#pragma once
#include <string>
#include <vector>

#include "passes/fusion/plan/loop_plan.h"
#include "passes/fusion/sequence/kernel_sequence.h"
#include "passes/fusion/sequence/sequence_context.h"
#include "passes/fusion/tiles/tiling.h"

namespace tilewright::passes::fusion {

/// The name of a kernel, and what reports say about it.
struct NamedKernel {
  std::string name, reason, estimate;
};

/// Emits both kernels. Throws TileTooLarge.
void emit_divided(SequenceContext&, ExprBuilder&, const LoopPlan&, Tiling&, const NamedKernel&, std::vector<SequenceKernel>& to);

}  // namespace tilewright::passes::fusion
