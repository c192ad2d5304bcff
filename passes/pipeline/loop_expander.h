// The plan of a pipelined loop, and its expansion.
#pragma once
#include <map>
#include <optional>

#include "passes/pass.h"
#include "passes/pipeline/loop_schedule.h"
#include "passes/pipeline/pipelined_loads.h"
#include "passes/rewriter.h"

namespace tilewright::passes {

/// The loads of a loop that are copied ahead, and the loop's schedule.
struct LoopPlan {
  PipelinedLoads found;
  LoopSchedule schedule;
};

/// The plan of a loop (a for); none if nothing is copied ahead. Reduces masks of its loads. `bulk`: the loads that bulk copies can do.
std::optional<LoopPlan> plan_loop(Rewriter&, const PassContext&, OpId loop, const BulkLoads& bulk = {});

/// Expands the plan to the form that pipeline_loops describes.
void expand_loop(Rewriter&, OpId loop, LoopPlan);

/// The counted loops of a function, outer ones first.
std::vector<OpId> counted_loops(const Function&);

}  // namespace tilewright::passes
