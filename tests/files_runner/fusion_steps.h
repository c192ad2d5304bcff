// The steps from a graph to its kernels, each as a text: what .graph files check.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "passes/fusion/options.h"
#include "tileir/graph/graph.h"
#include "tileir/target/target_desc.h"

namespace tilewright::test {

struct StepOptions {
  ir::TargetDesc target;
  passes::fusion::FusionOptions program;
  std::size_t most_operations = 0;  // limit for a segment; 0: no limit
};

/// The names of all steps, in the order in which they run.
std::vector<std::string_view> fusion_steps();

/// The result of a step of docs/fusion.md for a graph, as text. Requires the name of a step.
std::string print_step(std::string_view step, const graph::Graph&, const StepOptions&);

}  // namespace tilewright::test
