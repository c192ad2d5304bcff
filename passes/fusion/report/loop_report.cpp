// Describes loops.
#include "passes/fusion/report/loop_report.h"

#include "passes/fusion/plan/loop_label.h"

namespace tilewright::passes::fusion {

LoopReport report_loop(const LoopPlan& plan, const std::function<graph::NodeId(Expr)>& source, const TensorLabel& name) {
  if (!plan.loop) return {};
  LoopReport report{loop_label(plan, name), plan.loop->extent.text(), plan.programs.cells, {}};
  for (int pass = 1; pass <= plan.passes; ++pass)
    for (std::size_t i = 0; i < plan.reductions.size(); ++i)
      if (const Reduction& r = plan.reductions[i]; r.pass == pass)
        report.reductions.push_back({static_cast<int>(i), pass, r.policy, r.value->combine, source(r.value)});
  return report;
}

}  // namespace tilewright::passes::fusion
