// Runs the checks of kernels, and combines their results.
#include "passes/fusion/sequence/sequence_proof.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "passes/fusion/stopwatch.h"
#include "tileir/graph/neutral.h"

namespace tilewright::passes::fusion {

void add_proof(SequenceProof& all, const ProofResult& proof) {
  all.exact = all.exact && proof.exact;
  all.rounds = std::max(all.rounds, proof.rounds);
  if (proof.log2_error != 0) all.log2_error = all.log2_error == 0 ? proof.log2_error : std::max(all.log2_error, proof.log2_error);
  for (const std::string& what : proof.left_open) leave_open(all, what);
}

void leave_open(SequenceProof& all, const std::string& what) {
  if (std::find(all.left_open.begin(), all.left_open.end(), what) == all.left_open.end()) all.left_open.push_back(what);
}

void finish_proof(SequenceContext& c) {
  SequenceProof& all = c.sequence.proof;
  const auto has_elements = [&](const graph::Output& o) { return !graph::is_empty(c.graph.node(o.node).shape); };
  const bool is_compared = std::ranges::any_of(c.graph.outputs(), has_elements);
  all.exact = all.exact && (c.instances.has_compared() || !is_compared);
  all.text = fmt::format("{}", fmt::join(all.left_open, "; "));
  all.text += (all.is_partial() ? "; " : "") + (is_compared ? c.instances.text() : "no output has elements");
  all.rounds = std::max(all.rounds, 1);  // the buffers of each kernel are checked in any case
}

ProofResult check_exactly(SequenceContext& c, const ExprBuilder& b, const LoopPlan& plan) {
  Stopwatch check_time(c.sequence.times.check_ms);
  ProofResult proof = check_by(c.check, b, plan);
  check_time.stop();
  return proof;
}

void check_results(SequenceContext& c, const Formulas& f, const std::vector<const LoopPlan*>& plans) {
  Stopwatch check_time(c.sequence.times.check_ms);
  const ProofResult proof = c.instances.run(f.axes, f.pool, f.results, plans);
  check_time.stop();
  if (proof.is_refuted) throw PlanRefuted(proof.text);
  add_proof(c.sequence.proof, proof);
}

}  // namespace tilewright::passes::fusion
