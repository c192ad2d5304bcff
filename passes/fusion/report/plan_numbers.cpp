// Counts operations of formulas, and describes plans in words.
#include "passes/fusion/report/plan_numbers.h"

#include <fmt/format.h>

#include <algorithm>

#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/plan/loop_label.h"
#include "tileir/text/plural.h"

namespace tilewright::passes::fusion {

namespace {

double magnitude(const Rational& r) { return r.is_negative() ? -r.to_double() : r.to_double(); }

// The operations at one point of the expression's axes; for a reduction, at one point of its body's axes.
double flops_at_a_point(Expr e) {
  if (ir::is_integer(e->element) || e->element == ir::Element::boolean) return 0;
  switch (e->kind) {
    case ExprKind::add: {
      double count = static_cast<double>(e->terms.size()) - 1;
      for (const Term& t : e->terms) count += magnitude(t.coefficient) == 1 || t.value->is_number(1) ? 0 : 1;
      return count;
    }
    case ExprKind::mul: {
      double count = magnitude(e->number) == 1 ? -1 : 0;
      for (const Factor& f : e->factors)
        if (!f.base->is(ExprKind::indicator)) count += f.exponent.is_integer() ? magnitude(f.exponent) : 1;
      return std::max(count, 0.0);
    }
    case ExprKind::function: return e->function == ir::OpKind::fma_ ? 2 : e->function == ir::OpKind::mul_ ? 1 : 0;
    case ExprKind::reduce: return e->combine == graph::Combine::sum || e->combine == graph::Combine::prod ? 1 : 0;
    default: return 0;
  }
}

void add_flops_of(Expr e, std::vector<FlopCount>& all) {
  const double each = flops_at_a_point(e);
  if (each == 0) return;
  AxisSet axes = e->axes;
  axes.insert(e->bound);
  std::vector<Dim> space;
  for (Axis a : axes) space.push_back(a->extent);
  const auto same = std::find_if(all.begin(), all.end(), [&](const FlopCount& c) { return c.space == space; });
  if (same == all.end())
    all.push_back({each, std::move(space)});
  else
    same->each += each;
}

std::string listed(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

}  // namespace

std::vector<FlopCount> count_flops(const LoopPlan& plan) {
  std::vector<FlopCount> all;
  ExprSet seen;
  for (const KernelOutput& o : plan.outputs)
    walk(o.value, seen, [](Expr e) { return !e->is(ExprKind::load); }, [&](Expr e) { add_flops_of(e, all); });
  return all;
}

std::string reason_of(const LoopPlan& plan, const TensorLabel& name) {
  if (!plan.loop) return "element by element, from one read of each operand";
  unsigned sums = 0, maxima = 0, minima = 0, others = 0, rolling = 0, shifted = 0;
  for (const Reduction& r : plan.reductions) {
    if (r.policy == Policy::unused || r.policy == Policy::constant) continue;
    const graph::Combine c = r.value->combine;
    ++(c == graph::Combine::sum ? sums : c == graph::Combine::max ? maxima : c == graph::Combine::min ? minima : others);
    rolling += r.policy == Policy::rolling;
    shifted += r.policy == Policy::shifted;
  }
  std::vector<std::string> what;
  if (!plan.scans.empty()) what.push_back(ir::plural(plan.scans.size(), "scan"));
  if (maxima > 0) what.push_back(ir::counted(maxima, "maximum", "maxima"));
  if (minima > 0) what.push_back(ir::counted(minima, "minimum", "minima"));
  if (sums > 0) what.push_back(ir::plural(sums, "sum"));
  if (others > 0) what.push_back(ir::plural(others, "other reduction"));
  std::string text = fmt::format("a loop over {} computes {}", loop_label(plan, name), what.empty() ? "no reduction" : listed(what));
  text += plan.passes == 1 ? " in one pass" : fmt::format(" in {} passes", plan.passes);
  if (rolling > 0) text += "; exponents refer to the value so far";
  if (shifted > 0) text += "; differences refer to an estimate of the first tile";
  return text;
}

}  // namespace tilewright::passes::fusion
