// Collects axes from the outputs and from what they read.
#include "passes/fusion/tiles/plan_rows.h"

#include "passes/fusion/tiles/footprint.h"

namespace tilewright::passes::fusion {

AxisSet rows_of(const LoopPlan& plan) {
  AxisSet of_parameters, of_others, rows;
  for (Expr load : loads_of(plan.outputs)) (load->tensor->is_parameter ? of_parameters : of_others).insert(load->axes);
  for (const KernelOutput& o : plan.outputs) rows.insert(o.value->axes);
  rows = rows.without(of_parameters.without(of_others));
  for (Axis a : bound_axes(plan.outputs)) rows = rows.without({a});
  return rows;
}

}  // namespace tilewright::passes::fusion
