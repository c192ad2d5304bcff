// Prints a plan as text for people and for tests: equal plans have equal texts.
#include <fmt/format.h>

#include "passes/fusion/expr/expr_text.h"
#include "passes/fusion/plan/loop_plan.h"

namespace tilewright::passes::fusion {

namespace {

std::string_view combine_text(graph::Combine c) {
  switch (c) {
    case graph::Combine::sum: return "+=";
    case graph::Combine::prod: return "*=";
    case graph::Combine::max: return "max=";
    default: return "combine=";
  }
}

std::string terms_text(const std::vector<AccumulatorTerm>& terms, const ExprNames& names) {
  std::string joined;
  for (const AccumulatorTerm& t : terms) {
    joined += joined.empty() ? "" : " + ";
    if (!t.factor->is_number(1)) joined += text(t.factor, names) + " * ";
    joined += fmt::format("T{}", t.accumulator);
  }
  return joined;
}

std::string epilogue_text(const LoopPlan& plan, const ExprNames& names) {
  std::string all = "  epilogue\n";
  for (const KernelOutput& o : plan.outputs)
    all += fmt::format("    {} = {}{}\n", o.name, text(o.value, names), o.has(plan.loop) ? "; written in the last pass" : "");
  return all;
}

}  // namespace

std::string LoopPlan::text() const {
  using fusion::text;
  if (!loop) {
    std::string all = fmt::format("no loop; grid [{}]\n", text(programs.grid));
    for (const KernelOutput& o : outputs) all += fmt::format("  {} = {}\n", o.name, text(o.value));
    return all;
  }
  ExprNames names;
  for (std::size_t i = 0; i < reductions.size(); ++i) names[reductions[i].value] = fmt::format("r{}", i);
  const std::string count = fmt::format("{:.0f}", programs.cells);
  std::string all = fmt::format("loop over {}; grid [{}]; payload [{}]; {} pass{}; {} cell{}\n", loop->name, text(programs.grid),
                                text(programs.payload), passes, passes == 1 ? "" : "es", count, count == "1" ? "" : "s");
  for (int pass = 1; pass <= passes; ++pass) {
    if (passes > 1) all += fmt::format(" pass {}\n", pass);
    for (const Reduction& r : reductions) {
      if (r.pass != pass) continue;
      all += fmt::format("  {}[{}] = {} over {}: {}{}\n", names.at(r.value), text(r.value->axes),
                         r.value->combine == graph::Combine::sum   ? "sum"
                         : r.value->combine == graph::Combine::max ? "max"
                                                                   : "reduction",
                         text(r.value->bound), text(r.policy), r.is_only_reference ? ", only a reference" : "");
      if (r.is_computed()) all += fmt::format("    = {}\n", terms_text(r.terms, names));
    }
    for (std::size_t i = 0; i < accumulators.size(); ++i) {
      const Accumulator& a = accumulators[i];
      if (a.pass != pass || (a.combine != graph::Combine::sum && !is_read(reductions, static_cast<int>(i)))) continue;
      all += fmt::format("    T{}[{}] {} {}", i, text(a.axes), combine_text(a.combine), text(a.body, names));
      if (!a.exponent->is_number(0)) all += fmt::format("; moves by exp of the change of {}", text(a.exponent, names));
      if (!a.move.empty()) all += "; shifts to " + terms_text(a.move, names);
      all += "\n";
    }
  }
  for (std::size_t i = 0; i < scans.size(); ++i) {
    names[scans[i].value] = fmt::format("s{}", i);
    all += fmt::format("  s{}[{}] {} {}; running {} {}\n", i, text(scans[i].value->axes), combine_text(scans[i].value->combine),
                       text(scans[i].body, names), is_reverse ? "from the end of" : "along", loop->name);
  }
  all += epilogue_text(*this, names);
  for (const Refusal& r : refusals)
    all += fmt::format("  not fused: {}: {}, because {} is complete only after all of {}\n", r.why.reason, text(r.why.node, names),
                       text(r.why.pending, names), loop->name);
  return all;
}

std::string merge_text(const LoopPlan& plan, int pass) {
  using fusion::text;
  ExprNames names;
  for (std::size_t i = 0; i < plan.reductions.size(); ++i) names[plan.reductions[i].value] = fmt::format("r{}", i);
  std::string all = fmt::format("merge of states of the loop over {}; grid [{}]; payload [{}]\n", plan.loop->name, text(plan.programs.grid),
                                text(plan.programs.payload));
  for (const UpdateStep& step : plan.states[static_cast<std::size_t>(pass - 1)].steps) {
    switch (step.kind) {  // a new kind: docs/extending.md, Adding a form of fusion, step 3
      case UpdateStep::Kind::refer: {
        const Reduction& r = plan.reductions[static_cast<std::size_t>(step.index)];
        all += fmt::format("  refer to {} = {}\n", names.at(r.value), terms_text(r.terms, names));
        break;
      }
      case UpdateStep::Kind::shift: all += fmt::format("  shift to {}\n", text(step.shift->operands[0], names)); break;
      case UpdateStep::Kind::accumulate: {
        const Accumulator& a = plan.accumulators[static_cast<std::size_t>(step.index)];
        all += fmt::format("    T{}[{}] {} T{} of each state", step.index, text(a.axes), combine_text(a.combine), step.index);
        if (step.moves_by_shifts) all += ", shifted to " + terms_text(a.move, names);
        if (step.moves_by_exponent) all += fmt::format(", moved by exp of the change of {}", text(a.exponent, names));
        all += "\n";
        break;
      }
    }
  }
  return all + epilogue_text(plan, names);
}

}  // namespace tilewright::passes::fusion
