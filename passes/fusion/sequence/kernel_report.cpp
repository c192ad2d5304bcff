// Fills in the members of a kernel that only reports read.
#include "passes/fusion/sequence/kernel_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "passes/fusion/expr/expr_text.h"
#include "passes/fusion/report/loop_report.h"
#include "passes/fusion/report/plan_numbers.h"
#include "passes/fusion/report/refusal_text.h"

namespace tilewright::passes::fusion {

SequenceKernel reported_kernel(const graph::Graph& g, const ExprPool& pool, const LoopPlan& plan, Share share, std::string reason,
                               std::string plan_text, const TensorLabel& name) {
  SequenceKernel k;
  k.reason = std::move(reason);
  k.passes = plan.passes;
  k.plan_text = std::move(plan_text);
  k.covers = covered_nodes(g, pool, plan, share);
  if (share == Share::rest) return k;
  k.loop = report_loop(plan, [&](Expr e) { return nearest_source(pool, e); }, name);
  k.flops = count_flops(plan);
  return k;
}

SequenceKernel reported_scatter(const graph::Graph& g, const ExprPool& pool, graph::NodeId n, const Scatter& s, bool is_atomic,
                                const std::string& name) {
  SequenceKernel k;
  k.reason = is_atomic ? "programs add the updates by atomics" : "each program adds the updates of its rows and columns in order";
  std::set<std::uint32_t> covered{n.index};
  ExprSet seen;
  for (Expr e : {s.start, s.target, s.update})
    if (e != s.start || !is_atomic) cover_sources(g, pool, e, seen, covered);
  for (std::uint32_t node : covered) k.covers.push_back({node});
  k.plan_text = fmt::format("{}[{}] += {}{}", name, text(s.target), text(s.update), is_atomic ? ", atomic" : ", in order");
  return k;
}

void report_refusals(KernelSequence& sequence, const graph::Graph& g, const ExprPool& pool, const LoopPlan& plan) {
  std::vector<std::string>& lines = sequence.not_fused;
  for (const Refusal& r : plan.refusals)
    if (std::string line = refusal_text(g, pool, plan, r); std::find(lines.begin(), lines.end(), line) == lines.end())
      lines.push_back(std::move(line));
}

}  // namespace tilewright::passes::fusion
