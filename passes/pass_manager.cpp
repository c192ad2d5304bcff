// Runs passes in order, and reports which pass was running when the compiler failed.
#include "passes/pass_manager.h"

#include <fmt/format.h>

#include <chrono>

#include "passes/debug/leave_reproducer.h"
#include "passes/pass_table.h"
#include "passes/plans/lowering_plans.h"
#include "tileir/diagnostics.h"
#include "tileir/verifier.h"

namespace tilewright::passes {

namespace {

const PassInfo& pass_named(std::string_view name) {
  if (const PassInfo* p = find_pass(name)) return *p;
  std::string known;
  for (const PassInfo& p : all_passes()) known += fmt::format("{}'{}'", known.empty() ? "" : ", ", p.name);
  throw Error({}, fmt::format("there is no pass '{}'; the passes are {}", name, known));
}

void run_pass(const PassInfo& pass, Function& f, const PassContext& context) {
  const bool changed = pass.run(f, context);
  if (changed && !pass.keeps_plans) context.plans->invalidate();
}

/// The context of a compiler bug report. Passes are functions of their input, so the IR before any pass can be computed again from one copy
/// of the first input.
struct Replay {
  const Function& start;
  const PassContext& context;
  std::span<const std::string_view> names;
  std::size_t current = 0;

  static void describe(const void* subject, std::string_view pass, BugReport& report) {
    const auto& self = *static_cast<const Replay*>(subject);
    report.text += fmt::format("\n  in pass '{}' on kernel '{}'", pass, self.start.name);
    Function f = self.start;
    PlanCache plans;
    PassContext context = self.context;
    context.plans = &plans;
    for (std::string_view name : self.names.first(self.current)) run_pass(*find_pass(name), f, context);
    leave_reproducer(f, pass, fmt::format("passes: {}", pass), report);
  }
};

std::string problems_text(const std::vector<ir::Problem>& problems) {
  std::string s;
  for (const ir::Problem& p : problems) s += fmt::format("{}{}: {}", s.empty() ? "" : "; ", text(p.where), p.message);
  return s;
}

}  // namespace

std::vector<PassTiming> run_passes(Function& f, std::span<const std::string_view> names, const PassContext& given,
                                   const RunOptions& options) {
  PlanCache own_plans;
  PassContext context = given;
  if (!context.plans) context.plans = &own_plans;
  context.plans->invalidate();          // they may belong to another function
  std::vector<const PassInfo*> passes;  // looked up first: an unknown name is an error before any pass runs
  for (std::string_view name : names) passes.push_back(&pass_named(name));
  if (options.dump) options.dump("00_traced", f);
  const Function start = f;
  Replay replay{start, context, names};
  std::vector<PassTiming> timings;
  for (const PassInfo* pass : passes) {
    const BugContext bug(pass->name, &replay, Replay::describe);
    const auto begin = std::chrono::steady_clock::now();
    run_pass(*pass, f, context);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    timings.push_back({std::string(pass->name), took.count()});
    if (options.verify_each) {
      const auto problems = ir::verify(f);
      TW_CHECK(problems.empty(), fmt::format("the pass '{}' left malformed IR: {}", pass->name, problems_text(problems)));
    }
    ++replay.current;
    if (options.dump) options.dump(fmt::format("{:02}_{}", replay.current, pass->name), f);
  }
  return timings;
}

}  // namespace tilewright::passes
