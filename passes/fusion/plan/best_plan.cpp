// Tries each axis that may be the loop.
#include "passes/fusion/plan/best_plan.h"

#include <optional>
#include <tuple>

#include "passes/fusion/expr/scans.h"
#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

namespace {

// Plans are compared by whether they fit, then by their passes, then by what a program holds: accumulators, and positions of inner
// reductions.
std::tuple<bool, int, double> cost(const LoopPlan& p) {
  return {!row_fits_on_chip(p), p.passes, p.programs.cells + p.programs.resident + p.programs.after};
}

}  // namespace

bool row_fits_on_chip(const LoopPlan& p) {
  // Programs hold the axes that are not distributed over the grid completely, so such an axis must have a known greatest extent.
  AxisSet whole = p.programs.payload;
  for (const KernelOutput& o : p.outputs) whole.insert(o.value->axes.without(p.programs.grid));
  for (Axis a : whole)
    if (p.loop && a != p.loop && a->extent.greatest() > kMostHeldExtent) return false;
  return p.programs.cells + p.programs.after <= kMostRowCells;
}

LoopPlan best_plan(ExprBuilder& b, const std::vector<KernelOutput>& outputs) {
  std::optional<LoopPlan> best;
  std::vector<Axis> candidates = bound_axes(outputs);
  std::vector<Expr> values;
  for (const KernelOutput& o : outputs) values.push_back(o.value);
  if (const std::optional<ScanLoop> scans = scan_loop(values)) candidates = {scans->axis};
  if (candidates.empty()) candidates.push_back(nullptr);
  for (Axis loop : candidates) {
    LoopPlan plan(b, outputs, loop);
    if (!best || cost(plan) < cost(*best)) best.emplace(std::move(plan));
  }
  return std::move(*best);
}

}  // namespace tilewright::passes::fusion
