// What runs of plans cost, side by side: the time of processors on a host; on emulated devices the instructions of warps, and the bytes that
// kernels read and write by the plan. No other process disturbs these.
#pragma once
#include <tilewright/tilewright.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/report.h"
#include "tileir/graph/graph.h"

namespace bench {

/// The cost of one run. Seconds: 0 on emulated devices; instructions: 0 on others.
struct RunCost {
  double seconds = 0;
  double instructions = 0, bytes = 0;
};
/// A function that runs a plan once and waits for it.
struct PlanRun {
  const tilewright::Plan& plan;
  std::function<void()> run;
};

bool is_emulated(const tilewright::Device&);

/// Times are medians of processor time, in turns.
std::vector<RunCost> costs_of(const tilewright::Device&, const std::vector<PlanRun>&, int repeats);

/// A graph that is compiled with the search and without it. If it is rewritten, both plans are run with random arguments and the typical values
/// of symbols. Adds a row with the quotients of the costs; those of a graph that stays as written are 1.
void compare_with_search(const std::string& name, const std::shared_ptr<const tilewright::graph::Graph>&, const tilewright::Device&,
                         const Options&, Report&);

}  // namespace bench
