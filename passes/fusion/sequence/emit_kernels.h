// Emits the kernels of plans, and adds them to a list of the sequence.
#pragma once
#include <string>
#include <vector>

#include "passes/fusion/cover/cover.h"
#include "passes/fusion/sequence/kernel_sequence.h"
#include "passes/fusion/sequence/sequence_context.h"

namespace tilewright::passes::fusion {

/// Emits the kernels into which a segment was divided, after their buffers are made. If tiles cannot hold all outputs of a kernel at once,
/// each output gets a kernel.
void emit_covered(SequenceContext&, ExprBuilder&, std::vector<CoveredKernel>, std::vector<SequenceKernel>& to);

/// Checks a plan, and emits it with the tiles that fit: one kernel, or two if programs divide its loop. Throws PlanRefuted, and TileTooLarge
/// if no tiles fit. If no reason is given, the plan's is used.
void emit_plan(SequenceContext&, ExprBuilder&, LoopPlan, const std::string& reason, std::vector<SequenceKernel>& to);

}  // namespace tilewright::passes::fusion
