// What runs of plans cost, side by side: the time of processors on a host; on emulated devices the instructions of warps, the time that is
// estimated from all counters, and the bytes that kernels read and write by the plan. No other process disturbs these.
#pragma once
#include <tilewright/tilewright.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/report.h"
#include "tileir/graph/graph.h"

namespace bench {

/// The cost of one run. Seconds are the median time of processors, and on emulated devices the estimate from
/// counters. Instructions: 0 on hosts.
struct RunCost {
  double seconds = 0;
  std::vector<double> turns;  // seconds of each turn on a host
  double instructions = 0, bytes = 0;
};
/// How many times the time of `b` a takes: on a host the median of the quotients of the turns, since other processes slow both of one turn.
double times_as_long(const RunCost& a, const RunCost& b);

/// A function that runs a plan once and waits for it.
struct PlanRun {
  const tilewright::Plan& plan;
  std::function<void()> run;
};

bool is_emulated(const tilewright::Device&);

/// Times are medians of processor time, in turns.
std::vector<RunCost> costs_of(const tilewright::Device&, const std::vector<PlanRun>&, int repeats);

/// Throws if results differ by more than rounding of f32.
void check_equal(const std::string& name, const std::vector<float>&, const std::vector<float>& expected);

/// A graph that is compiled with the search and without it. If it is rewritten, both plans are run with random arguments and the typical values
/// of symbols. Adds a row with the quotients of the costs; those of a graph that stays as written are 1.
void compare_with_search(const std::string& name, const std::shared_ptr<const tilewright::graph::Graph>&, const tilewright::Device&,
                         const Options&, Report&);

}  // namespace bench
