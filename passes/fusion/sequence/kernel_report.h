// Describes a kernel of a sequence for reports: which nodes it computes, why they are one kernel, its loop and its work.
#pragma once
#include <string>

#include "passes/fusion/emit/scatter.h"
#include "passes/fusion/plan/loop_label.h"
#include "passes/fusion/plan/loop_plan.h"
#include "passes/fusion/report/covered_nodes.h"
#include "passes/fusion/sequence/kernel_sequence.h"

namespace tilewright::passes::fusion {

/// A kernel that computes this share of a plan, with its reports and without its function.
SequenceKernel reported_kernel(const graph::Graph&, const ExprPool&, const LoopPlan&, Share, std::string reason, std::string plan_text,
                               const TensorLabel& name);

/// The kernel that adds the updates of a scatter_add, likewise. `name`: name of the result.
SequenceKernel reported_scatter(const graph::Graph&, const ExprPool&, graph::NodeId, const Scatter&, bool is_atomic,
                                const std::string& name);

/// Adds the lines that say why reductions of a plan take another pass; a line that is there already is not repeated.
void report_refusals(KernelSequence&, const graph::Graph&, const ExprPool&, const LoopPlan&);

}  // namespace tilewright::passes::fusion
