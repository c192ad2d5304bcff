// Derives the kernels of a graph: from values to expressions, from expressions to kernels, from kernels to tile IR.
#include "passes/fusion/sequence/build_sequence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "passes/fusion/check/field_check.h"
#include "passes/fusion/check/instance_check.h"
#include "passes/fusion/cover/cost.h"
#include "passes/fusion/cover/cover.h"
#include "passes/fusion/cover/fit_tiling.h"
#include "passes/fusion/cover/limits.h"
#include "passes/fusion/emit/scatter.h"
#include "passes/fusion/emit/tile_values.h"
#include "passes/fusion/expr/expr_text.h"
#include "passes/fusion/graph/known_nodes.h"
#include "passes/fusion/graph/node_memory.h"
#include "passes/fusion/graph/recurring_values.h"
#include "passes/fusion/graph/segment_parts.h"
#include "passes/fusion/graph/segment_structure.h"
#include "passes/fusion/graph/segments.h"
#include "passes/fusion/graph/shifted_reads.h"
#include "passes/fusion/plan/best_plan.h"
#include "passes/fusion/report/covered_nodes.h"
#include "passes/fusion/report/error_bound.h"
#include "passes/fusion/report/loop_report.h"
#include "passes/fusion/report/plan_numbers.h"
#include "passes/fusion/report/refusal_text.h"
#include "passes/fusion/sequence/buffers.h"
#include "passes/fusion/sequence/called_kernel.h"
#include "passes/fusion/sequence/check_buffers.h"
#include "passes/fusion/sequence/joined_part.h"
#include "passes/fusion/sequence/kernel_arguments.h"
#include "passes/fusion/sequence/repetition.h"
#include "passes/fusion/stopwatch.h"
#include "passes/fusion/thresholds.h"
#include "passes/fusion/translate/graph_to_exprs.h"
#include "passes/fusion/translate/parameters.h"
#include "passes/fusion/translate/repeated_values.h"
#include "tileir/diagnostics.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/neutral.h"

namespace tilewright::passes::fusion {

namespace {

using graph::NodeId;
using graph::Op;

class SequenceBuilder {
 public:
  SequenceBuilder(const graph::Graph& g, const FusionOptions& options, const ir::TargetDesc& target)
      : g_(g), options_(options), target_(target), known_(g), structure_(g, known_), buffers_(g, known_), instances_(g) {
    for (const graph::Output& o : g.outputs()) outputs_[o.node].push_back(&o);
  }

  KernelSequence run_fused() {
    build_fused();
    return finish();
  }

  KernelSequence run_unfused() {
    build_unfused();
    return finish();
  }

 private:
  KernelSequence finish() {
    sequence_.proof.text = fmt::format("{}", fmt::join(sequence_.proof.left_open, "; "));
    sequence_.proof.text += (sequence_.proof.is_partial() ? "; " : "") + instances_.text();
    sequence_.steps += instances_.steps();
    sequence_.proof.rounds = std::max(sequence_.proof.rounds, 1);  // the buffers of each kernel were checked in any case
    sequence_.buffers = std::move(buffers_).finish(sequence_.kernels, sequence_.parameter_kernels);
    check_buffers(sequence_);
    return std::move(sequence_);
  }

  // The expressions of kernels that are derived together.
  struct Formulas {
    explicit Formulas(const FusionOptions& o) : exprs(pool, o.fuse && !o.reassociate ? Rewriting::none : Rewriting::normal_form) {}
    ExprPool pool;
    ExprBuilder exprs;
  };

  // If formulas are kept as written, their roundings stay in place.
  bool moves_rounding() const { return options_.move_rounding && (options_.reassociate || !options_.fuse); }

  GraphToExprs::Options translation() const {
    return {moves_rounding(), [&](NodeId n) { return buffers_.name_of(n); }};
  }

  // ---- kernels ----

  // The kernels of a segment, which segments with the same structure reuse.
  struct Derivation {
    Segment segment;
    std::size_t begin = 0, end = 0;                      // range of its kernels
    std::size_t parameter_begin = 0, parameter_end = 0;  // range of its parameter kernels
  };

  void build_fused() {
    std::vector<Segment> segments = divide(g_, kMostOperations, !target_.is_gpu());
    for (const Segment& s : segments) {
      ahead_.insert(s.ahead.begin(), s.ahead.end());
      if (s.joined && s.joined->is_ahead) ahead_.insert(s.joined->whole);
    }
    // A value that is an output and that later segments read is stored only once. But inputs and constants have memory of their own, and a
    // value that is known before a run is also stored elsewhere.
    buffers_.store_in_outputs([&](NodeId n) { return !has_own_memory(g_.node(n)) && !ahead_.contains(n); });
    std::map<std::string, Derivation> derivations;
    for (Segment& s : segments) {
      if (s.cut) sequence_.not_fused.push_back(cut_text(g_, *s.cut, fmt::format("a part has at most {}", kMostOperations)));
      if (const auto known = derivations.find(s.structure); known != derivations.end()) {
        repeat(known->second, s);
        continue;
      }
      for (NodeId n : s.repeated) sequence_.not_fused.push_back(repeated_text(g_, n));
      for (NodeId n : s.recurring) sequence_.not_fused.push_back(recurring_text(g_, n));
      Derivation d;
      d.begin = sequence_.kernels.size();
      d.parameter_begin = sequence_.parameter_kernels.size();
      try {
        within_fractions([&] { derive(s); });
      } catch (const TileTooLarge&) {
        throw;
      } catch (const DerivationFailed& why) {
        if (s.joined) throw;
        kernels_ = &sequence_.kernels;
        sequence_.kernels.resize(d.begin);
        sequence_.parameter_kernels.resize(d.parameter_begin);
        derive_unfused(s, why.reason);
      }
      d.end = sequence_.kernels.size();
      d.parameter_end = sequence_.parameter_kernels.size();
      d.segment = s;
      finish_joined(s, d.begin, d.parameter_begin);
      derivations.emplace(s.structure, std::move(d));
    }
  }

  // Tensors without elements need no kernel, except those that calls write.
  bool is_nothing(NodeId n) const { return graph::is_empty(g_.node(n).shape) && g_.node(n).op != Op::call; }

  void derive(const Segment& s) {
    if (std::all_of(s.results.begin(), s.results.end(), [&](NodeId n) { return is_nothing(n); })) return;
    if (!s.joined && has_own_kernels(g_.node(s.results[0]).op)) {
      derive_own_kernels(s.results[0], s.memory);
      for (NodeId n : s.results) copy_outputs(n, {n}, false);
      return;
    }
    derive_ahead(s);
    if (const Segment rest = structure_.without_ahead(s); !rest.results.empty()) derive_within_budget(rest);
  }

  // A segment that takes too many steps as a whole is derived in halves.
  void derive_within_budget(const Segment& s) {
    const std::size_t operations = operations_of(g_, s);
    std::vector<Segment> halves;
    if (operations > kFewestOperations) halves = structure_.divided(s, (operations + 1) / 2);
    if (halves.size() < 2) return derive_results(s, UINT64_MAX);
    const std::uint64_t most = options_.steps_of_operation * operations;
    try {
      return derive_results(s, most);
    } catch (const TooManySteps&) {
    }
    sequence_.steps += most;
    sequence_.not_fused.push_back(cut_text(g_, *halves[0].cut, fmt::format("the whole takes more than {} steps", most)));
    for (const Segment& half : halves) derive_within_budget(half);
  }

  // Throws TooManySteps before it adds a kernel.
  void derive_results(const Segment& s, std::uint64_t most_steps) {
    Stopwatch derive_time(sequence_.times.derive_ms);
    const AxisAnalysis axes(g_, s.results, s.memory);
    Formulas formulas(options_);
    formulas.pool.steps().limit(most_steps);
    GraphToExprs translator(g_, axes, formulas.exprs, translation());
    ParameterFolding folding(formulas.exprs, {.move_rounding = moves_rounding(),
                                              .is_known = [&](Tensor t) { return is_known(t); },
                                              .is_fixed = [&](const Dim& d) { return known_.is_fixed(d); },
                                              .name_tensor = [&](const std::vector<Tensor>& read) { return buffers_.name_derived(read); }});
    std::vector<KernelOutput> outputs;
    std::vector<CheckedResult> results;
    std::vector<const graph::Output*> given;  // in the order of the graph's outputs
    const std::vector<NodeId> stored = s.joined ? std::vector<NodeId>() : s.results;
    for (NodeId n : stored)
      for (const graph::Output* o : outputs_of(n)) given.push_back(o);
    std::sort(given.begin(), given.end());
    for (const graph::Output* o : given)
      if (!is_nothing(o->node)) translator.translate(o->node);
    for (NodeId n : s.results)
      if (s.joined || (!ahead_.contains(n) && !is_nothing(n))) translator.translate(n);
    if (const std::set<NodeId> apart = values_in_two_orders(g_, translator.values()); !apart.empty()) {
      sequence_.steps += formulas.pool.steps().taken();
      return derive_apart(s, apart);
    }
    for (const graph::Output* o : given) {
      if (is_nothing(o->node)) continue;
      const BoundValue v = translator.translate(o->node);
      outputs.push_back({o->name, folding.fold(v.value), buffers_.output_tensor(*o, formulas.pool), v.index});
      results.push_back({o->node, outputs.back().tensor});
    }
    if (s.joined) {
      BoundValue v = translator.translate(s.results[0]);
      v.value = folding.fold(v.value);
      const NodeId whole = s.joined->whole;
      outputs.push_back(joined_output(g_, *s.joined, buffers_.name_of(whole), translator.tensor_of(whole), std::move(v), formulas.exprs));
      results.push_back({s.results[0], outputs.back().tensor});
    }
    for (NodeId n : stored) {
      if (ahead_.contains(n) || is_nothing(n) || !buffers_.outputs_of(n).empty()) continue;
      const BoundValue v = translator.translate(n);
      outputs.push_back({buffers_.name_of(n), folding.fold(v.value), translator.tensor_of(n), v.index});
      results.push_back({n, outputs.back().tensor});
    }
    derive_time.stop();
    std::vector<CoveredKernel> ahead = covered(formulas, folding.ahead()), kernels = covered(formulas, std::move(outputs));
    std::vector<const LoopPlan*> plans;
    for (const std::vector<CoveredKernel>* part : {&ahead, &kernels})
      for (const CoveredKernel& k : *part) plans.push_back(&k.plan);
    formulas.pool.steps().limit(UINT64_MAX);
    check_instances(axes, formulas, results, plans);
    emit_covered(formulas, std::move(ahead), sequence_.parameter_kernels);
    emit_covered(formulas, std::move(kernels), s.joined && s.joined->is_ahead ? sequence_.parameter_kernels : sequence_.kernels);
    sequence_.steps += formulas.pool.steps().taken();
  }

  // Values that must be the same number for all their users are stored.
  void derive_apart(const Segment& s, const std::set<NodeId>& apart) {
    for (NodeId n : apart) sequence_.not_fused.push_back(stored_text(g_, n));
    for (const Segment& part : structure_.divided_at(s, apart)) derive_within_budget(part);
  }

  // Derives each node of a segment separately, for a reason: no plan of the segment has passed its check, say.
  void derive_unfused(const Segment& s, const std::string& why) {
    std::set<NodeId> stored = s.memory;
    std::vector<NodeId> computed;
    // The nodes of combining functions have no values.
    const AxisAnalysis axes(g_, s.results, s.memory);
    for (NodeId n : axes.nodes()) {
      const bool is_stored = is_result(s, n) || !(computes_nothing(g_.node(n).op) || graph::is_view(g_.node(n).op));
      if (is_stored && stored.insert(n).second) computed.push_back(n);
    }
    for (NodeId n : computed) derive_node(n, stored_operands(g_, n, stored));
    for (NodeId n : s.results) copy_outputs(n, stored, known_.is_known(n));
    const Location& where = g_.node(s.results.back()).where;
    sequence_.not_fused.push_back(fmt::format("not fused: node by node ({}:{}), because {}", where.file, where.line, why));
  }

  // Derives those results of a segment that are known before a run.
  void derive_ahead(const Segment& s) {
    if (s.ahead.empty()) return;
    const AxisAnalysis axes(g_, s.ahead, s.memory);
    Formulas formulas(options_);
    GraphToExprs translator(g_, axes, formulas.exprs, translation());
    std::vector<KernelOutput> outputs;
    std::vector<CheckedResult> results;
    for (NodeId n : s.ahead) {
      if (is_nothing(n)) continue;
      const BoundValue v = translator.translate(n);
      outputs.push_back({buffers_.name_of(n), v.value, translator.tensor_of(n), v.index});
      results.push_back({n, outputs.back().tensor});
    }
    std::vector<CoveredKernel> kernels = covered(formulas, std::move(outputs));
    std::vector<const LoopPlan*> plans;
    for (const CoveredKernel& k : kernels) plans.push_back(&k.plan);
    check_instances(axes, formulas, results, plans);
    emit_covered(formulas, std::move(kernels), sequence_.parameter_kernels);
    sequence_.steps += formulas.pool.steps().taken();
  }

  std::vector<CoveredKernel> covered(Formulas& formulas, std::vector<KernelOutput> outputs) {
    if (outputs.empty()) return {};
    Stopwatch cover_time(sequence_.times.cover_ms);
    std::vector<CoveredKernel> kernels = cover(formulas.exprs, std::move(outputs), target_, options_, buffers_.next_number());
    buffers_.take_numbers(static_cast<int>(formulas.pool.tensors()));
    cover_time.stop();
    return kernels;
  }

  void emit_covered(Formulas& formulas, std::vector<CoveredKernel> kernels, std::vector<SequenceKernel>& to) {
    kernels_ = &to;
    for (const CoveredKernel& k : kernels)
      for (const KernelOutput& o : k.plan.outputs) buffers_.add_written(o, formulas.exprs);
    for (CoveredKernel& k : kernels) emit_or_divide(formulas, std::move(k));
    kernels_ = &sequence_.kernels;
  }

  bool is_known(Tensor t) const {
    if (!t->node.valid()) return buffers_.is_derived(t);
    const Op op = g_.node(t->node).op;
    return op == Op::input || op == Op::constant ? known_.is_known(t->node) : ahead_.contains(t->node);
  }

  // Repeats the kernels of an equal segment with this segment's buffers.
  void repeat(const Derivation& d, const Segment& s) {
    Repetition repetition(g_, buffers_, d.segment, s);
    const std::size_t begin = sequence_.kernels.size(), parameter_begin = sequence_.parameter_kernels.size();
    repeat_kernels(sequence_.kernels, d.begin, d.end, repetition);
    repeat_kernels(sequence_.parameter_kernels, d.parameter_begin, d.parameter_end, repetition);
    finish_joined(s, begin, parameter_begin);
  }

  void repeat_kernels(std::vector<SequenceKernel>& kernels, std::size_t begin, std::size_t end, Repetition& repetition) {
    for (std::size_t i = begin; i < end; ++i) {
      SequenceKernel k = repetition.kernel(kernels[i]);
      k.name = kernel_name(k.writes);
      name_function(k);
      k.like = k.like < 0 ? static_cast<int>(i) : k.like;
      kernels.push_back(std::move(k));
    }
  }

  // The kernels from these indices on belong to a part of a concatenation.
  void finish_joined(const Segment& s, std::size_t begin, std::size_t parameter_begin) {
    if (!s.joined) return;
    const int whole = buffers_.of(s.joined->whole);
    place(*s.joined, whole, std::span(sequence_.kernels).subspan(begin));
    place(*s.joined, whole, std::span(sequence_.parameter_kernels).subspan(parameter_begin));
    if (s.joined->is_last) copy_outputs(s.joined->whole, {s.joined->whole}, s.joined->is_ahead);
  }

  std::vector<const graph::Output*> outputs_of(NodeId n) const {
    const auto at = outputs_.find(n);
    return at == outputs_.end() ? std::vector<const graph::Output*>() : at->second;
  }

  static bool is_result(const Segment& s, NodeId n) { return std::binary_search(s.results.begin(), s.results.end(), n); }

  // Each node that computes something is a kernel; views belong to the kernel that reads them.
  void build_unfused() {
    const std::vector<bool> needed = g_.needed_nodes();
    std::set<NodeId> computed;
    for (std::uint32_t i = 0; i < g_.size(); ++i) {
      const graph::Node& n = g_.node({i});
      if (!needed[i]) continue;
      if (!computes_nothing(n.op) && !graph::is_view(n.op)) computed.insert({i});
      // A kernel of the user reads its operands from memory.
      if (n.op == Op::call)
        for (NodeId x : n.operands)
          if (!has_own_memory(g_.node(x))) computed.insert(x);
    }
    // A node that is an output is stored there, and later nodes read it there; but a value that is known before a run is kept elsewhere.
    const std::set<std::string> written = buffers_.store_in_outputs([&](NodeId n) { return computed.contains(n) && !known_.is_known(n); });
    for (NodeId n : computed) derive_node(n, stored_operands(g_, n, computed));
    for (const graph::Output& o : g_.outputs())
      if (written.count(o.name) == 0) copy_output(o, computed);
  }

  // Derives the kernel of one node, whose operands are in memory.
  void derive_node(NodeId n, std::set<NodeId> stored) {
    if (is_nothing(n)) return;
    stored.erase(n);
    if (has_own_kernels(g_.node(n).op)) {
      derive_own_kernels(n, std::move(stored));
      return;
    }
    kernels_ = known_.is_known(n) ? &sequence_.parameter_kernels : &sequence_.kernels;
    derive_alone(n, std::move(stored), nullptr, "one node");
    kernels_ = &sequence_.kernels;
  }

  // If two outputs have one value, the second one is a copy. An output that is known before a run is always a copy, since its value is
  // kept.
  void copy_outputs(NodeId n, const std::set<NodeId>& stored, bool is_kept) {
    const std::vector<const graph::Output*> outputs = outputs_of(n);
    for (std::size_t i = is_kept ? 0 : 1; i < outputs.size(); ++i) copy_output(*outputs[i], stored);
  }

  void copy_output(const graph::Output& o, const std::set<NodeId>& stored) {
    if (is_nothing(o.node)) return;
    derive_alone(o.node, stored.contains(o.node) ? std::set<NodeId>{o.node} : stored_operands(g_, o.node, stored), &o, "an output");
  }

  // Derives one kernel that computes a node from memory, to the node's own buffer or to an output.
  void derive_alone(NodeId n, std::set<NodeId> read, const graph::Output* output, const std::string& reason) {
    const AxisAnalysis axes(g_, {n}, std::move(read));
    Formulas formulas(options_);
    GraphToExprs translator(g_, axes, formulas.exprs, translation());
    const BoundValue v = translator.translate(n);
    const Tensor written = output ? buffers_.output_tensor(*output, formulas.pool) : translator.tensor_of(n);
    const LoopPlan plan = best_plan(formulas.exprs, {{output ? output->name : buffers_.name_of(n), v.value, written, v.index}});
    check_instances(axes, formulas, {{n, written}}, {&plan});
    emit(formulas, plan, reason);
  }

  // ---- checks ----

  // Compares the values that kernels write with the graph. Throws PlanRefuted.
  void check_instances(const AxisAnalysis& axes, const Formulas& f, const std::vector<CheckedResult>& results,
                       const std::vector<const LoopPlan*>& plans) {
    Stopwatch check_time(sequence_.times.check_ms);
    const ProofResult proof = instances_.run(axes, f.pool, results, plans);
    check_time.stop();
    if (proof.is_refuted) throw PlanRefuted(proof.text);
    add_proof(sequence_.proof, proof);
  }

  // ---- nodes with kernels of their own ----

  void derive_own_kernels(NodeId n, std::set<NodeId> memory) {
    if (g_.node(n).op == Op::call)
      add_call(n);
    else
      derive_scatter(n, std::move(memory));
  }

  void derive_scatter(NodeId n, std::set<NodeId> memory) {
    const AxisAnalysis axes(g_, g_.node(n).operands, std::move(memory));
    Formulas f(options_);
    GraphToExprs translator(g_, axes, f.exprs, translation());
    const Scatter s = scatter_of(g_, n, translator, f.exprs);
    check_scatter(n, axes, f, s);
    const bool is_atomic = adds_by_atomics(s.result->element, options_.deterministic, target_);
    const bool has_updates = !graph::has_empty_operand(g_, g_.node(n));
    if (is_atomic || !has_updates)
      emit(f, best_plan(f.exprs, {{buffers_.name_of(n), s.start, s.result, s.own}}), "what updates are added to");
    if (!has_updates) return;
    SequenceKernel k = scatter_kernel(g_, f.pool, n, s, is_atomic, buffers_.name_of(n));
    k.name = kernel_name({buffers_.of(n)});
    TileSizes sizes;
    EmittedKernel e =
        is_atomic ? emit_scatter_atomic(k.name, f.exprs, s, sizes) : emit_scatter_in_order(k.name, f.exprs, s, target_, sizes);
    add_kernel(std::move(k), std::move(e), sizes);
    if (is_atomic) sequence_.kernels.back().reads.push_back(buffers_.of(s.result));
    leave_open(sequence_.proof, "of scatter_add the operands are compared, and not its sums");
  }

  // Checks the operands of a scatter_add; its kernel computes the sum.
  void check_scatter(NodeId n, const AxisAnalysis& axes, Formulas& f, const Scatter& s) {
    Stopwatch check_time(sequence_.times.check_ms);
    const std::vector<NodeId>& operands = g_.node(n).operands;
    std::vector<Expr> of_target, of_update = s.own;
    for (Axis a : s.positions) of_target.push_back(f.exprs.index(a));
    const auto row = of_update.erase(of_update.begin() + g_.node(n).axes[0]);
    of_update.insert(row, of_target.begin(), of_target.end());
    const CheckedValue values[] = {{operands[0], s.start, s.own}, {operands[1], s.target, of_target}, {operands[2], s.update, of_update}};
    const ProofResult proof = instances_.run(axes, f.pool, values);
    check_time.stop();
    TW_CHECK(!proof.is_refuted, "fusion: an operand of scatter_add computes another value: " + proof.text);
    add_proof(sequence_.proof, proof);
  }

  // All results of one call are written at once; results that no output needs have memory too.
  void add_call(NodeId n) {
    const graph::Node& node = g_.node(n);
    if (!called_.insert(node.kernel.get()).second) return;
    std::vector<int> operands, results(node.kernel->results.size());
    for (NodeId x : node.operands) operands.push_back(buffers_.of(x));
    for (std::size_t i = 0; i < g_.size(); ++i)
      if (const NodeId id{static_cast<std::uint32_t>(i)}; g_.node(id).kernel == node.kernel)
        results[static_cast<std::size_t>(g_.node(id).position)] = buffers_.of(id);
    SequenceKernel k = called_kernel(*node.kernel, operands, results);
    k.name = kernel_names_.add(identifier(node.kernel->name));
    k.covers = {n};
    sequence_.kernels.push_back(std::move(k));
    if (node.kernel->reason.empty()) leave_open(sequence_.proof, "kernels of the user are not derived, and not checked");
  }

  // If tiles cannot hold all outputs of a kernel at once, it is divided into one kernel for each output.
  void emit_or_divide(Formulas& f, CoveredKernel k) {
    try {
      emit(f, k.plan, k.proof, std::move(k.tiling), {}, k.reason);
    } catch (const TileTooLarge&) {
      if (k.plan.outputs.size() == 1) throw;
      for (const KernelOutput& o : k.plan.outputs) emit(f, best_plan(f.exprs, {o}), {});
    }
  }

  void emit(Formulas& f, const LoopPlan& plan, const std::string& reason) {
    Stopwatch check_time(sequence_.times.check_ms);
    const ProofResult proof = check_by(options_, f.exprs, plan);
    check_time.stop();
    emit(f, plan, proof, {}, reason, {});
  }

  // If no reason is given, the plan's is used.
  void emit(Formulas& f, const LoopPlan& plan, const ProofResult& proof, FittedTiling tiling, const std::string& reason,
            const std::string& estimate) {
    if (proof.is_refuted) throw PlanRefuted(proof.text);
    if (!tiling.kernel) tiling = fit_tiling(f.exprs, plan, target_, options_);
    if (!tiling.kernel) throw TileTooLarge();
    std::vector<int> written;
    for (const KernelOutput& o : plan.outputs) written.push_back(buffers_.of(o.tensor));
    const std::string name = kernel_name(written);
    add_proof(sequence_.proof, proof);
    if (tiling.split.parts == 1) {
      SequenceKernel k = described(f.pool, plan, reason.empty() ? reason_of(plan) : reason, plan.text());
      k.estimate = estimate;
      tiling.kernel->function.name = name;
      k.error_text = error_text(plan, sum_bounds(plan, tiling.sizes, 1));
      add_kernel(std::move(k), std::move(*tiling.kernel), tiling.sizes);
    } else {
      emit_split(f, plan, name, tiling.sizes, tiling.split, reason, estimate);
    }
  }

  // Emits two kernels: programs of the first one store the states of the parts of the loop, the second one merges them.
  void emit_split(Formulas& f, const LoopPlan& plan, const std::string& name, TileSizes& sizes, const SplitChoice& choice,
                  const std::string& reason, const std::string& estimate) {
    const SplitLoop split = split_loop(f.exprs, plan, accumulator_order(plan, sizes), choice.parts,
                                       [&](Expr reduction) { return buffers_.name_state(f.pool, reduction); });
    const std::string part_name = kernel_names_.add(name + "_parts");
    EmittedKernel parts =
        emit_within_limits(sizes, target_, [&] { return emit_part_kernel(part_name, f.exprs, plan, sizes, split); }).kernel;
    std::int64_t at_once = 1;
    TileSizes merging = merge_tiles(plan, sizes, choice.parts, at_once);
    EmittedKernel merge =
        emit_within_limits(merging, target_, [&] { return emit_merge_kernel(name, f.exprs, plan, merging, split, at_once); }).kernel;
    SequenceKernel divided =
        described(f.pool, plan, choice.reason + "\n" + (reason.empty() ? reason_of(plan) : reason), plan.text(), Share::reductions);
    divided.estimate = estimate;
    add_kernel(std::move(divided), std::move(parts), sizes);
    SequenceKernel merged = described(f.pool, plan, fmt::format("merges the states of {} parts in a fixed order", choice.parts),
                                      merge_text(plan, 1), Share::rest);
    merged.flops.clear();
    merged.error_text = error_text(plan, sum_bounds(plan, sizes, choice.parts));
    add_kernel(std::move(merged), std::move(merge), merging);
  }

  void add_kernel(SequenceKernel k, EmittedKernel e, const TileSizes& sizes) {
    take_emitted(k, std::move(e), sizes, buffers_);
    name_function(k);
    kernels_->push_back(std::move(k));
  }

  // A kernel is named after the buffers that it writes.
  std::string kernel_name(const std::vector<int>& written) { return kernel_names_.add(buffers_.subject_of(written)); }

  // Names the function after the kernel, and its parameters after the buffers.
  void name_function(SequenceKernel& k) const {
    k.function.name = k.name;
    for (std::size_t i = 0; i < k.arguments.size(); ++i)
      if (const KernelArgument& a = k.arguments[i]; a.kind == KernelArgument::Kind::buffer)
        k.function.params[i].name = identifier(buffers_[a.buffer].name);
  }

  // ---- reports ----

  SequenceKernel described(const ExprPool& pool, const LoopPlan& plan, const std::string& reason, std::string plan_text,
                           Share share = Share::whole) {
    SequenceKernel k;
    k.reason = reason;
    k.passes = plan.passes;
    k.plan_text = std::move(plan_text);
    k.covers = covered_nodes(g_, pool, plan, share);
    if (share != Share::rest) k.loop = report_loop(plan, [&](Expr e) { return nearest_source(pool, e); });
    for (const Refusal& r : plan.refusals) {
      const std::string line = refusal_text(g_, pool, plan, r);
      if (std::find(sequence_.not_fused.begin(), sequence_.not_fused.end(), line) == sequence_.not_fused.end())
        sequence_.not_fused.push_back(line);
    }
    k.flops = count_flops(plan);
    return k;
  }

  const graph::Graph& g_;
  const FusionOptions& options_;
  const ir::TargetDesc& target_;
  const KnownNodes known_;
  const SegmentStructure structure_;
  ProgramBuffers buffers_;
  InstanceCheck instances_;
  KernelSequence sequence_;
  std::vector<SequenceKernel>* kernels_ = &sequence_.kernels;  // the list to which kernels are added
  NameSet kernel_names_;
  std::set<const graph::OpaqueKernel*> called_;
  std::set<NodeId> ahead_;  // results of segments that depend only on parameters
  std::map<NodeId, std::vector<const graph::Output*>> outputs_;
};

}  // namespace

KernelSequence build_sequence(const graph::Graph& g, const FusionOptions& options, const ir::TargetDesc& target) {
  std::string not_fused;
  if (options.fuse) {
    try {
      return within_fractions([&] { return SequenceBuilder(g, options, target).run_fused(); });
    } catch (const DerivationFailed& why) {
      // More axes than a tile may have, or a node between memory and memory that has no plan: the unfused kernels have the message.
      not_fused = "not fused: node by node, because " + why.reason;
    }
  }
  try {
    KernelSequence p = within_fractions([&] { return SequenceBuilder(g, options, target).run_unfused(); });
    if (!not_fused.empty()) p.not_fused.push_back(std::move(not_fused));
    return p;
  } catch (const DerivationFailed& why) {
    TW_CHECK(false, "fusion: one node has no kernel, because " + why.reason);
  }
  TW_UNREACHABLE("a node without a kernel");
}

}  // namespace tilewright::passes::fusion
