// Derives and runs the kernel of a workload.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "passes/fusion/emit/kernel_emitter.h"
#include "passes/fusion/plan/loop_plan.h"
#include "tests/unit/passes/fusion/workloads.h"

namespace tilewright::passes::fusion::test {

struct Derived {
  std::unique_ptr<graph::Graph> graph = std::make_unique<graph::Graph>();
  std::unique_ptr<ExprPool> pool = std::make_unique<ExprPool>();
  std::unique_ptr<ExprBuilder> exprs = std::make_unique<ExprBuilder>(*pool);
  std::vector<KernelOutput> outputs;
};

/// The outputs of a graph as expressions that one kernel computes.
void translate_outputs(Derived&);
Derived derive(const Workload&, Variants&);
/// The plan with the loop's axis that a kernel for tensors of the given sizes would take.
LoopPlan plan_of(Derived&);

/// The relative error of each output of the kernel, run by the interpreter on random inputs, against the graph in double precision.
/// parts: into how many the loop is divided; a second kernel merges their states.
std::map<std::string, double> errors_of(Derived&, const LoopPlan&, const TileSizes&, std::uint64_t seed, std::int64_t parts = 1);

}  // namespace tilewright::passes::fusion::test
