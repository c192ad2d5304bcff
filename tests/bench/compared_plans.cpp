// Runs plans in turns.
#include "tests/bench/compared_plans.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <stdexcept>

#include "frontend/graph/compile.h"
#include "frontend/graph/random_arguments.h"
#include "runtime/device.h"
#include "runtime/devices.h"

namespace bench {

namespace tw = tilewright;

namespace {

double instructions_of(const tw::Device& device, const std::function<void()>& run) {
  device.take_reports();
  run();
  double instructions = 0;
  for (const tw::KernelReport& kernel : device.take_reports()) instructions += static_cast<double>(kernel.instructions);
  return instructions;
}

double bytes_of(const tw::Plan& plan) {
  double bytes = 0;
  for (const tw::PlannedKernel& k : plan.kernels()) bytes += static_cast<double>(k.bytes_read + k.bytes_written);
  return bytes;
}

double processor_seconds(const std::function<void()>& run) {
  const std::clock_t start = std::clock();
  run();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// A plan with memory of its own.
class RandomRun {
 public:
  RandomRun(const std::shared_ptr<const tw::graph::Graph>& g, const tw::Device& device, tw::Search search)
      : device_(device),
        plan(tw::detail::compile_graph(g, device.handle(), device.handle()->target(), {.search = search}, tw::Here::current())),
        arguments_(*g, device.handle(), tw::Here::current()) {
    std::vector<tw::RunArgument> all = arguments_.each_run();
    all.insert(all.end(), arguments_.parameters().begin(), arguments_.parameters().end());
    plan.run(all);
    device.synchronize();
  }
  void operator()() const {
    plan.run(arguments_.each_run());
    device_.synchronize();
  }

 private:
  const tw::Device& device_;

 public:
  const tw::Plan plan;

 private:
  const tw::detail::RandomArguments arguments_;
};

}  // namespace

bool is_emulated(const tw::Device& device) { return device.name().starts_with("emulator"); }

std::vector<RunCost> costs_of(const tw::Device& device, const std::vector<PlanRun>& runs, int repeats) {
  std::vector<RunCost> costs;
  for (const PlanRun& r : runs) costs.push_back({.bytes = bytes_of(r.plan)});
  if (is_emulated(device)) {
    for (std::size_t r = 0; r < runs.size(); ++r) {
      costs[r].instructions = instructions_of(device, runs[r].run);
      costs[r].seconds = 1e-6 * *tw::rt::estimated_microseconds(device.name(), runs[r].run);
    }
    return costs;
  }
  // Clocks are too coarse for short runs.
  constexpr double kLeastSeconds = 2e-3;
  std::vector<std::vector<double>> seconds(runs.size());
  std::vector<int> times;
  for (const PlanRun& r : runs) times.push_back(1 + static_cast<int>(kLeastSeconds / (1e-6 + processor_seconds(r.run))));
  for (int i = 0; i < repeats; ++i)
    for (std::size_t r = 0; r < runs.size(); ++r)
      seconds[r].push_back(processor_seconds([&] {
                             for (int k = 0; k < times[r]; ++k) runs[r].run();
                           }) /
                           times[r]);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    costs[r].seconds = summarise(seconds[r]).median;
    costs[r].turns = std::move(seconds[r]);
  }
  return costs;
}

double times_as_long(const RunCost& a, const RunCost& b) {
  if (a.turns.empty()) return a.seconds / b.seconds;
  std::vector<double> quotients;
  for (std::size_t i = 0; i < a.turns.size(); ++i) quotients.push_back(a.turns[i] / b.turns[i]);
  return summarise(quotients).median;
}

void check_equal(const std::string& name, const std::vector<float>& values, const std::vector<float>& expected) {
  double most = 0, difference = values.size() == expected.size() ? 0 : HUGE_VAL;
  for (std::size_t i = 0; i < expected.size() && difference < HUGE_VAL; ++i) {
    most = std::max(most, std::fabs(static_cast<double>(expected[i])));
    difference = std::max(difference, std::fabs(static_cast<double>(values[i]) - static_cast<double>(expected[i])));
  }
  // Where products are tf32, each factor has 11 bits.
  if (!(difference <= 1e-2 * most)) throw std::runtime_error(name + ": the results differ");
}

void compare_with_search(const std::string& name, const std::shared_ptr<const tw::graph::Graph>& g, const tw::Device& device,
                         const Options& options, Report& report) {
  const tw::Plan dry = tw::detail::compile_graph(g, nullptr, device.handle()->target(), {}, tw::Here::current());
  const double rewritings = static_cast<double>(dry.rewrites().size());
  const std::string problem = rewritings > 0 ? tw::detail::RandomArguments::problem_of(*g, *device.handle()) : "";
  if (rewritings == 0 || !problem.empty()) {
    report.row(name + (problem.empty() ? "" : ", not run: " + problem), {{"rewritings", rewritings}, {"with / without", 1}});
    return;
  }
  const RandomRun searched(g, device, tw::Search::estimate), as_written(g, device, tw::Search::off);
  const std::vector<RunCost> costs =
      costs_of(device, {{searched.plan, std::cref(searched)}, {as_written.plan, std::cref(as_written)}}, options.repeats);
  if (is_emulated(device))
    report.row(name, {{"rewritings", rewritings},
                      {"estimate by counters, with / without", times_as_long(costs[0], costs[1])},
                      {"instructions, with / without", costs[0].instructions / costs[1].instructions},
                      {"bytes, with / without", costs[0].bytes / costs[1].bytes}});
  else
    report.row(name, {{"rewritings", rewritings},
                      {"searched us", 1e6 * costs[0].seconds},
                      {"as written us", 1e6 * costs[1].seconds},
                      {"with / without", times_as_long(costs[0], costs[1])}});
}

}  // namespace bench
