// Emits scatters, and adds calls as they are.
#include "passes/fusion/sequence/own_kernels.h"

#include <utility>
#include <vector>

#include "passes/fusion/emit/scatter.h"
#include "passes/fusion/plan/best_plan.h"
#include "passes/fusion/sequence/called_kernel.h"
#include "passes/fusion/sequence/emit_kernels.h"
#include "passes/fusion/sequence/formulas.h"
#include "passes/fusion/sequence/kernel_arguments.h"
#include "passes/fusion/sequence/kernel_report.h"
#include "passes/fusion/sequence/sequence_proof.h"
#include "passes/fusion/stopwatch.h"
#include "tileir/diagnostics.h"
#include "tileir/graph/neutral.h"

namespace tilewright::passes::fusion {

using graph::NodeId;

namespace {

// Checks the operands of a scatter_add; its kernel computes the sum.
void check_scatter(SequenceContext& c, NodeId n, Formulas& f, const Scatter& s) {
  Stopwatch check_time(c.sequence.times.check_ms);
  const std::vector<NodeId>& operands = c.graph.node(n).operands;
  std::vector<Expr> of_target, of_update = s.own;
  for (Axis a : s.positions) of_target.push_back(f.exprs.index(a));
  const auto row = of_update.erase(of_update.begin() + c.graph.node(n).axes[0]);
  of_update.insert(row, of_target.begin(), of_target.end());
  const CheckedValue values[] = {{operands[0], s.start, s.own}, {operands[1], s.target, of_target}, {operands[2], s.update, of_update}};
  const ProofResult proof = c.instances.run(f.axes, f.pool, values);
  check_time.stop();
  TW_CHECK(!proof.is_refuted, "fusion: an operand of scatter_add computes another value: " + proof.text);
  add_proof(c.sequence.proof, proof);
}

void derive_scatter(SequenceContext& c, NodeId n, std::set<NodeId> memory) {
  std::vector<SequenceKernel>& kernels = c.sequence.kernels;
  Formulas f(c, c.graph.node(n).operands, std::move(memory));
  const Scatter s = scatter_of(c.graph, n, f.translator, f.exprs);
  check_scatter(c, n, f, s);
  const bool is_atomic = adds_by_atomics(s.result->element, c.options.deterministic, c.target);
  const bool has_updates = !graph::has_empty_operand(c.graph, c.graph.node(n));
  if (is_atomic || !has_updates)
    emit_plan(c, f.exprs, best_plan(f.exprs, {{c.buffers.name_of(n), s.start, s.result, s.own}}), "what updates are added to", kernels);
  if (!has_updates) return;
  const std::string name = c.kernel_name({c.buffers.of(n)});
  TileSizes sizes;
  EmittedKernel e = is_atomic ? emit_scatter_atomic(name, f.exprs, s, sizes) : emit_scatter_in_order(name, f.exprs, s, c.target, sizes);
  add_emitted(reported_scatter(c.graph, f.pool, n, s, is_atomic, c.buffers.name_of(n)), std::move(e), sizes, c.buffers, kernels);
  if (is_atomic) kernels.back().reads.push_back(c.buffers.of(s.result));
  leave_open(c.sequence.proof, "of scatter_add the operands are compared, and not its sums");
}

// Results that no output needs have memory too.
void add_call(SequenceContext& c, NodeId n) {
  const graph::Node& node = c.graph.node(n);
  if (!c.called.insert(node.kernel.get()).second) return;
  std::vector<int> operands, results(node.kernel->results.size());
  for (NodeId x : node.operands) operands.push_back(c.buffers.of(x));
  for (std::size_t i = 0; i < c.graph.size(); ++i)
    if (const NodeId id{static_cast<std::uint32_t>(i)}; c.graph.node(id).kernel == node.kernel)
      results[static_cast<std::size_t>(c.graph.node(id).position)] = c.buffers.of(id);
  SequenceKernel k = called_kernel(*node.kernel, operands, results);
  k.name = c.kernel_names.add(identifier(node.kernel->name));
  k.covers = {n};
  c.sequence.kernels.push_back(std::move(k));
  if (node.kernel->reason.empty()) leave_open(c.sequence.proof, "kernels of the user are not derived, and not checked");
}

}  // namespace

void derive_own_kernels(SequenceContext& c, NodeId n, std::set<NodeId> memory) {
  if (c.graph.node(n).op == graph::Op::call)
    add_call(c, n);
  else
    derive_scatter(c, n, std::move(memory));
}

}  // namespace tilewright::passes::fusion
