// Finds the tensors that a kernel reads along its loop.
#include "passes/fusion/plan/loop_label.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "passes/fusion/expr/expr_walk.h"

namespace tilewright::passes::fusion {

namespace {

// A tensor of the kernel, and the place of the loop's axis in its index.
struct Along {
  Tensor tensor;
  bool is_beside_others;  // in one position with another axis
  std::size_t axis;
};

std::vector<Along> reads_along(const LoopPlan& plan) {
  std::vector<Along> found;
  std::vector<Expr> values;
  for (const KernelOutput& o : plan.outputs) values.push_back(o.value);
  for (const RunningScan& s : plan.scans) values.push_back(s.body);
  ExprSet seen;
  for (Expr v : values)
    walk(v, seen, [&](Expr e) {
      if (!e->is(ExprKind::load)) return;
      for (std::size_t i = 0; i < e->operands.size(); ++i)
        if (const AxisSet& axes = e->operands[i]->axes; axes.contains(plan.loop)) found.push_back({e->tensor, axes.size() > 1, i});
    });
  std::sort(found.begin(), found.end(), [](const Along& a, const Along& b) {
    return std::tie(a.is_beside_others, a.tensor->name, a.axis) < std::tie(b.is_beside_others, b.tensor->name, b.axis);
  });
  return found;
}

// Other tensors have names of their own in formulas.
bool has_name_of_report(Tensor t) { return t->node.valid() ? !t->name.starts_with('%') : t->is_parameter; }

}  // namespace

std::string loop_label(const LoopPlan& plan, const TensorLabel& name) {
  const AxisData& loop = *plan.loop;
  if (loop.labels.empty() && !loop.label.starts_with("axis ")) return loop.label;
  const std::vector<Along> reads = reads_along(plan);
  for (const AxisData::Label& l : loop.labels)
    if (std::ranges::any_of(reads, [&](const Along& a) { return a.tensor->node == l.node; })) return l.text;
  const auto named = std::ranges::find_if(reads, [&](const Along& a) { return name || has_name_of_report(a.tensor); });
  if (named == reads.end()) return loop.label;
  return fmt::format("axis {} of {}", named->axis, name ? name(named->tensor) : named->tensor->name);
}

}  // namespace tilewright::passes::fusion
