// Emits a plan as one kernel, or has its loop divided.
#include "passes/fusion/sequence/emit_kernels.h"

#include <algorithm>
#include <utility>

#include "passes/fusion/emit/kernel_emitter.h"
#include "passes/fusion/plan/best_plan.h"
#include "passes/fusion/report/error_bound.h"
#include "passes/fusion/report/plan_numbers.h"
#include "passes/fusion/sequence/divided_loop.h"
#include "passes/fusion/sequence/kernel_arguments.h"
#include "passes/fusion/sequence/kernel_report.h"
#include "passes/fusion/sequence/sequence_proof.h"

namespace tilewright::passes::fusion {

namespace {

// Notes the tensors of which the outputs are only pieces. A kernel that writes a piece is a part of the concatenation.
void note_parts(SequenceContext& c, const LoopPlan& plan, SequenceKernel& k) {
  for (const KernelOutput& o : plan.outputs) {
    if (!o.is_piece) continue;
    const int buffer = c.buffers.of(o.tensor);
    Dim& elements = k.parts.emplace(buffer, 0).first->second;
    elements = elements + elements_written(o);
    const graph::NodeId whole = c.buffers[buffer].node;
    const auto at = std::lower_bound(k.covers.begin(), k.covers.end(), whole);
    if (at == k.covers.end() || *at != whole) k.covers.insert(at, whole);
  }
}

void emit(SequenceContext& c, ExprBuilder& b, CoveredKernel& covered, const std::string& reason, std::vector<SequenceKernel>& to) {
  const LoopPlan& plan = covered.plan;
  FittedTiling& tiling = covered.tiling;
  if (covered.proof.is_refuted) throw PlanRefuted(covered.proof.text);
  if (!tiling.kernel) tiling = fit_tiling(b, plan, choose_tiling(b, plan, c.target, c.options), c.target, c.options);
  if (!tiling.kernel) throw TileTooLarge();
  std::vector<int> written;
  for (const KernelOutput& o : plan.outputs) written.push_back(c.buffers.of(o.tensor));
  const std::string name = c.kernel_name(written);
  add_proof(c.sequence.proof, covered.proof);
  const std::string why = reason.empty() ? reason_of(plan, c.buffers.labels()) : reason;
  if (tiling.split.parts > 1) {
    emit_divided(c, b, plan, tiling, {name, why, covered.estimate}, to);
  } else {
    SequenceKernel k = reported_kernel(c.graph, b.pool(), plan, Share::whole, why, plan.text(), c.buffers.labels());
    k.estimate = covered.estimate;
    k.error_text = error_text(plan, sum_bounds(b, plan, tiling.sizes, 1));
    tiling.kernel->function.name = name;
    add_emitted(std::move(k), std::move(*tiling.kernel), tiling.sizes, c.buffers, to);
  }
  note_parts(c, plan, to.back());
  report_refusals(c.sequence, c.graph, b.pool(), plan);
}

void emit_or_divide_outputs(SequenceContext& c, ExprBuilder& b, CoveredKernel covered, std::vector<SequenceKernel>& to) {
  try {
    emit(c, b, covered, {}, to);
  } catch (const TileTooLarge&) {
    if (covered.plan.outputs.size() == 1) throw;
    for (const KernelOutput& o : covered.plan.outputs) emit_plan(c, b, best_plan(b, {o}), {}, to);
  }
}

}  // namespace

void emit_covered(SequenceContext& c, ExprBuilder& b, std::vector<CoveredKernel> kernels, std::vector<SequenceKernel>& to) {
  for (const CoveredKernel& k : kernels)
    for (const KernelOutput& o : k.plan.outputs) c.buffers.add_written(o, b);
  for (CoveredKernel& k : kernels) emit_or_divide_outputs(c, b, std::move(k), to);
}

void emit_plan(SequenceContext& c, ExprBuilder& b, LoopPlan plan, const std::string& reason, std::vector<SequenceKernel>& to) {
  ProofResult proof = check_exactly(c, b, plan);
  CoveredKernel covered{std::move(plan), {}, std::move(proof), {}, {}};
  emit(c, b, covered, reason, to);
}

}  // namespace tilewright::passes::fusion
