// Derives the results of segments together.
#include "passes/fusion/sequence/fused_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "passes/fusion/segments/segment_parts.h"
#include "passes/fusion/sequence/emit_kernels.h"
#include "passes/fusion/sequence/formula_key.h"
#include "passes/fusion/sequence/joined_part.h"
#include "passes/fusion/sequence/sequence_proof.h"
#include "passes/fusion/stopwatch.h"
#include "passes/fusion/thresholds.h"
#include "passes/fusion/translate/concat_outputs.h"
#include "passes/fusion/translate/divided_positions.h"
#include "passes/fusion/translate/repeated_values.h"

namespace tilewright::passes::fusion {

using graph::NodeId;
using graph::Op;

namespace {

double seconds_of(const std::vector<CoveredKernel>& kernels) {
  return std::accumulate(kernels.begin(), kernels.end(), 0.0, [](double sum, const CoveredKernel& k) { return sum + k.cost.seconds; });
}

}  // namespace

void FusedKernels::derive(const Segment& s) {
  derive_ahead(s);
  if (const Segment rest = structure_.without_ahead(s); !rest.results.empty()) derive_within_budget(rest);
}

// Derives those results of a segment that are known before a run.
void FusedKernels::derive_ahead(const Segment& s) {
  if (s.ahead.empty()) return;
  Formulas f(c_, s.ahead, s.memory);
  for (NodeId n : s.ahead)
    if (!c_.needs_no_kernel(n)) {
      const BoundValue v = f.translator.translate(n);
      f.add(n, c_.buffers.name_of(n), v, f.translator.tensor_of(n));
    }
  if (!c_.options.emit) return add_estimate(f, {}, true);
  emit_checked(f, covered(f, f.outputs), {}, c_.sequence.kernels);
}

// A segment that takes too many steps as a whole is derived in halves.
void FusedKernels::derive_within_budget(const Segment& s) {
  const std::size_t operations = operations_of(c_.graph, s);
  std::vector<Segment> halves;
  if (operations > kFewestOperations) halves = structure_.divided(s, (operations + 1) / 2);
  if (halves.size() < 2) return derive_results(s, UINT64_MAX);
  const std::uint64_t most = c_.options.steps_of_operation * operations;
  try {
    return derive_results(s, most);
  } catch (const TooManySteps&) {
    c_.sequence.steps += most;
    c_.sequence.not_fused.push_back(cut_text(c_.graph, *halves[0].cut, fmt::format("the whole takes more than {} steps", most)));
  }
  for (const Segment& half : halves) derive_within_budget(half);
}

// Throws TooManySteps before it adds a kernel.
void FusedKernels::derive_results(const Segment& s, std::uint64_t most_steps) {
  Stopwatch derive_time(c_.sequence.times.derive_ms);
  Formulas f(c_, s.results, s.memory);
  f.pool.steps().limit(most_steps);
  const auto may_be_stored = [&](NodeId n) { return !c_.known.is_known(n); };
  if (const std::set<NodeId> apart = values_between_divisions(c_.graph, f.axes, may_be_stored); !apart.empty())
    return derive_apart(s, apart, divided_text);
  translate_results(s, f);
  if (const std::set<NodeId> apart = values_in_two_orders(c_.graph, f.translator.values()); !apart.empty()) {
    c_.sequence.steps += f.pool.steps().taken();
    return derive_apart(s, apart, stored_text);
  }
  // All results are translated before one of them is folded: whether they can be derived together is known then.
  ParameterFolding folding(f.exprs, folding_options());
  for (KernelOutput& o : f.outputs) o.value = folding.fold(o.value);
  const std::vector<KernelOutput> of_parameters = folding.ahead();
  for (KernelOutput& o : f.wholes) o.value = folding.fold(o.value);
  derive_time.stop();
  const bool is_ahead = s.joined && s.joined->is_ahead;
  if (!c_.options.emit) return add_estimate(f, of_parameters, is_ahead);
  std::vector<CoveredKernel> ahead = covered(f, of_parameters), kernels = covered_results(f, !of_parameters.empty());
  f.pool.steps().limit(UINT64_MAX);
  if (!is_ahead) c_.estimated.estimate.seconds += seconds_of(kernels);
  emit_checked(f, std::move(ahead), std::move(kernels), is_ahead ? c_.sequence.parameter_kernels : c_.sequence.kernels);
}

// Stores these values, and says why.
void FusedKernels::derive_apart(const Segment& s, const std::set<NodeId>& apart, std::string (*why)(const graph::Graph&, NodeId)) {
  for (NodeId n : apart) c_.sequence.not_fused.push_back(why(c_.graph, n));
  for (const Segment& part : structure_.divided_at(s, apart)) derive_within_budget(part);
}

// The outputs of the graph that a segment writes, in the graph's order. The result of a part of a concatenation is not stored.
std::vector<const graph::Output*> FusedKernels::outputs_of_results(const Segment& s) const {
  std::vector<const graph::Output*> outputs;
  if (s.joined) return outputs;
  for (NodeId n : s.results)
    for (const graph::Output* o : c_.outputs_of(n))
      if (!c_.needs_no_kernel(n)) outputs.push_back(o);
  std::sort(outputs.begin(), outputs.end());
  return outputs;
}

// The values that kernels write: outputs of the graph, a part of a concatenation, and values that later segments read. A concatenation of
// products is written piece by piece.
void FusedKernels::translate_results(const Segment& s, Formulas& f) {
  const auto is_stored = [&](NodeId n) { return s.memory.contains(n); };
  const auto add = [&](NodeId n, const std::string& name, Tensor to) {
    f.add(n, result_outputs(c_.graph, f.translator, f.exprs, n, is_stored, name, to));
  };
  for (const graph::Output* o : outputs_of_results(s)) add(o->node, o->name, c_.buffers.output_tensor(*o, f.pool));
  if (s.joined) {
    const NodeId n = s.results[0], whole = s.joined->whole;
    BoundValue v = f.translator.translate(n);
    f.add(n, joined_output(c_.graph, *s.joined, c_.buffers.name_of(whole), f.translator.tensor_of(whole), std::move(v), f.exprs));
    return;
  }
  for (NodeId n : s.results)
    if (!ahead_.contains(n) && !c_.needs_no_kernel(n) && c_.buffers.outputs_of(n).empty())
      add(n, c_.buffers.name_of(n), f.translator.tensor_of(n));
  // A host takes several times as long for masked loads as is estimated.
  const auto node_of = [&](Tensor t) { return c_.buffers[c_.buffers.of(t)].node; };
  if (c_.target.is_gpu()) f.wholes = outputs_of_wholes(f.translator, f.outputs, node_of);
}

ParameterFolding::Options FusedKernels::folding_options() {
  return {.move_rounding = c_.moves_rounding(),
          .is_known = [this](Tensor t) { return is_known(t); },
          .is_fixed = [this](const Dim& d) { return c_.known.is_fixed(d); },
          .name_tensor = [this](const std::vector<Tensor>& read) { return c_.buffers.name_derived(read); }};
}

bool FusedKernels::is_known(Tensor t) const {
  if (!t->node.valid()) return c_.buffers.is_derived(t);
  const Op op = c_.graph.node(t->node).op;
  return op == Op::input || op == Op::constant ? c_.known.is_known(t->node) : ahead_.contains(t->node);
}

std::vector<CoveredKernel> FusedKernels::covered(Formulas& f, const std::vector<KernelOutput>& outputs) {
  if (outputs.empty()) return {};
  Stopwatch cover_time(c_.sequence.times.cover_ms);
  std::vector<CoveredKernel> kernels = cover(f.exprs, outputs, c_.target, c_.options, c_.buffers.next_number(), c_.check);
  c_.buffers.take_numbers(static_cast<int>(f.pool.tensors()));
  cover_time.stop();
  return kernels;
}

// The kernels of whole concatenations and those of pieces are interchangeable only if none of their formulas was folded.
std::vector<CoveredKernel> FusedKernels::covered_results(Formulas& f, bool are_folded) {
  std::vector<CoveredKernel> kernels = covered(f, f.outputs);
  if (are_folded) return kernels;
  std::vector<CoveredKernel> wholes = covered(f, f.wholes);
  return !wholes.empty() && takes_less(wholes, kernels) ? std::move(wholes) : std::move(kernels);
}

// Checks all kernels of the formulas before one is emitted. ahead: kernels that run when a parameter is given.
void FusedKernels::emit_checked(Formulas& f, std::vector<CoveredKernel> ahead, std::vector<CoveredKernel> kernels,
                                std::vector<SequenceKernel>& to) {
  std::vector<const LoopPlan*> plans;
  for (const std::vector<CoveredKernel>* part : {&ahead, &kernels})
    for (const CoveredKernel& k : *part) plans.push_back(&k.plan);
  check_results(c_, f, plans);
  emit_covered(c_, f.exprs, std::move(ahead), c_.sequence.parameter_kernels);
  emit_covered(c_, f.exprs, std::move(kernels), to);
  c_.sequence.steps += f.pool.steps().taken();
}

// Adds the formulas, and the time that kernels of a run take: only those of the results, unless these are computed ahead.
void FusedKernels::add_estimate(Formulas& f, const std::vector<KernelOutput>& of_parameters, bool is_ahead) {
  std::vector<KernelOutput> all = of_parameters;
  for (const std::vector<KernelOutput>* outputs : {&f.outputs, &f.wholes}) all.insert(all.end(), outputs->begin(), outputs->end());
  const std::optional<std::string> key = formula_key(all);
  EstimatedFormulas& e = c_.estimated;
  if (e.formulas) e.formulas = key ? std::optional(*e.formulas + *key + "\n\n") : std::nullopt;
  if (is_ahead || !e.known) return;
  if (key)
    if (const auto known = e.known->find(*key); known != e.known->end()) return void(e.estimate += known->second);
  const std::vector<CoveredKernel> kernels = covered_results(f, !of_parameters.empty());
  f.pool.steps().limit(UINT64_MAX);
  const GraphEstimate own = estimate(f, kernels);
  if (key) e.known->emplace(*key, own);
  e.estimate += own;
}

GraphEstimate FusedKernels::estimate(Formulas& f, const std::vector<CoveredKernel>& kernels) const {
  GraphEstimate sum;
  for (const CoveredKernel& k : kernels)
    sum += {.seconds = k.cost.seconds,
            .seconds_if_small = seconds_at(1, k.plan, k.tiling, f.exprs, c_.target, c_.options),
            .seconds_if_large = k.cost.seconds_if_large,
            .kernels = {k.cost.seconds}};
  return sum;
}

}  // namespace tilewright::passes::fusion
