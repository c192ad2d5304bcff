// A plan as text for people and for tests: equal plans have equal texts.
#include <fmt/format.h>

#include "passes/fusion/expr_text.h"
#include "passes/fusion/plan.h"

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

}  // namespace

std::string Plan::text() const {
  using fusion::text;
  if (!loop) {
    std::string all = fmt::format("no loop; grid [{}]\n", text(grid));
    for (const KernelOutput& o : outputs) all += fmt::format("  {} = {}\n", o.name, text(o.value));
    return all;
  }
  ExprNames names;
  for (std::size_t i = 0; i < reductions.size(); ++i) names[reductions[i].value] = fmt::format("r{}", i);
  std::string all = fmt::format("loop over {}; grid [{}]; payload [{}]; {} pass{}; {:.0f} cells\n", loop->name, text(grid), text(payload),
                                passes, passes == 1 ? "" : "es", cells);
  for (int pass = 1; pass <= passes; ++pass) {
    if (passes > 1) all += fmt::format(" pass {}\n", pass);
    for (const Reduction& r : reductions) {
      if (r.pass != pass) continue;
      all += fmt::format("  {}[{}] = {} over {}: {}{}\n", names.at(r.value), text(r.value->axes),
                         r.value->combine == graph::Combine::sum   ? "sum"
                         : r.value->combine == graph::Combine::max ? "max"
                                                                   : "reduction",
                         text(r.value->bound), text(r.policy), r.is_only_reference ? ", only a reference" : "");
      if (r.policy != Policy::constant && r.policy != Policy::unused) all += fmt::format("    = {}\n", terms_text(r.terms, names));
    }
    for (std::size_t i = 0; i < accumulators.size(); ++i) {
      const Accumulator& a = accumulators[i];
      if (a.pass != pass || (a.combine != graph::Combine::sum && !is_read(static_cast<int>(i)))) continue;
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
  all += "  epilogue\n";
  for (const KernelOutput& o : outputs)
    all += fmt::format("    {} = {}{}\n", o.name, text(o.value, names), o.has(loop) ? "; written in the last pass" : "");
  for (const Refusal& r : refusals)
    all += fmt::format("  not fused: {}: {}, because {} is complete only after all of {}\n", r.why.reason, text(r.why.node, names),
                       text(r.why.pending, names), loop->name);
  return all;
}

}  // namespace tilewright::passes::fusion
