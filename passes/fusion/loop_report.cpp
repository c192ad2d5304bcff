// Describes loops.
#include "passes/fusion/loop_report.h"

namespace tilewright::passes::fusion {

LoopReport report_loop(const Plan& plan, const std::function<graph::NodeId(Expr)>& source) {
  if (!plan.loop) return {};
  LoopReport report{plan.loop->name, plan.loop->extent.text(), plan.cells, {}};
  for (int pass = 1; pass <= plan.passes; ++pass)
    for (std::size_t i = 0; i < plan.reductions.size(); ++i)
      if (const Reduction& r = plan.reductions[i]; r.pass == pass)
        report.reductions.push_back({static_cast<int>(i), pass, r.policy, r.value->combine, source(r.value)});
  return report;
}

std::string renamed_axis(const std::string& axis, const std::map<std::string, std::string>& tensors) {
  const auto name_end = axis.find_last_not_of("0123456789_'");
  if (name_end == std::string::npos) return axis;
  // The name of a tensor may end in digits: the longest one that fits.
  for (std::size_t end = axis.size(); end > name_end; --end)
    if (const auto other = tensors.find(axis.substr(0, end)); other != tensors.end()) return other->second + axis.substr(end);
  return axis;
}

}  // namespace tilewright::passes::fusion
