// Runs the steps up to one, segment by segment, and prints what it gives.
#include "fusion_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "passes/fusion/check/instance_check.h"
#include "passes/fusion/cover/cover.h"
#include "passes/fusion/cover/cover_text.h"
#include "passes/fusion/graph/node_memory.h"
#include "passes/fusion/plan/best_plan.h"
#include "passes/fusion/plan/outputs_text.h"
#include "passes/fusion/segments/segments.h"
#include "passes/fusion/segments/segments_text.h"
#include "passes/fusion/sequence/buffers.h"
#include "passes/fusion/tensor_names.h"
#include "passes/fusion/tiles/split_loop.h"
#include "passes/fusion/tiles/tiling_text.h"
#include "passes/fusion/translate/axes_text.h"
#include "passes/fusion/translate/concat_outputs.h"
#include "passes/fusion/translate/graph_to_exprs.h"
#include "passes/fusion/translate/parameters.h"
#include "passes/fusion/translate/signed_zeros.h"
#include "tileir/graph/function_name.h"
#include "tileir/text/printer.h"

namespace tilewright::test {

namespace {

using namespace passes::fusion;

std::vector<Segment> segments_of(const graph::Graph& g, const StepOptions& o) {
  return divide(g, o.most_operations != 0 ? o.most_operations : kMostOperations, !o.target.is_gpu());
}

/// A segment's results as formulas, as a program that runs it has them.
class Derivation {
 public:
  Derivation(const graph::Graph& g, const Segment& s, const StepOptions& o)
      : g_(g),
        known_(g),
        buffers_(g, known_),
        builder_(pool_, o.program.reassociate ? Rewriting::normal_form : Rewriting::none),
        axes_(g, s.results, s.memory),
        zero_signs_(nodes_with_signed_zeros(g)),
        translator_(g, axes_, zero_signs_, builder_,
                    {o.program.reassociate && o.program.move_rounding, [this](graph::NodeId n) { return buffers_.name_of(n); }}),
        options_(o) {
    buffers_.store_in_outputs([&](graph::NodeId n) { return !has_own_memory(g.node(n)); });
    const auto add = [&](graph::NodeId n, const std::string& name, Tensor to) {
      results_.push_back({n, to});
      for (KernelOutput& output :
           result_outputs(g, translator_, builder_, n, [&](graph::NodeId x) { return s.memory.contains(x); }, name, to))
        outputs_.push_back(std::move(output));
    };
    for (const graph::Output& o : g.outputs())
      if (is_result(s, o.node)) add(o.node, o.name, buffers_.output_tensor(o, pool_));
    for (graph::NodeId n : s.results)
      if (buffers_.outputs_of(n).empty()) add(n, buffers_.name_of(n), translator_.tensor_of(n));
    const auto node_of = [&](Tensor t) { return buffers_[buffers_.of(t)].node; };
    if (o.target.is_gpu()) wholes_ = outputs_of_wholes(translator_, outputs_, node_of);
  }

  const AxisAnalysis& axes() const { return axes_; }
  const GraphToExprs& translator() const { return translator_; }
  ExprBuilder& builder() { return builder_; }
  const std::vector<KernelOutput>& outputs() const { return outputs_; }

  /// Moves what depends on parameters alone out of the outputs.
  std::vector<KernelOutput> fold_parameters() {
    ParameterFolding folding(builder_,
                             {.move_rounding = options_.program.move_rounding,
                              .is_known = [&](Tensor t) { return t->node.valid() ? known_.is_known(t->node) : buffers_.is_derived(t); },
                              .is_fixed = [&](const Dim& d) { return known_.is_fixed(d); },
                              .name_tensor = [&](const std::vector<Tensor>& read) { return buffers_.name_derived(read); }});
    for (KernelOutput& o : outputs_) o.value = folding.fold(o.value);
    return folding.ahead();
  }

  std::vector<CoveredKernel> covered() {
    const bool has_parameters = !fold_parameters().empty();
    std::vector<CoveredKernel> kernels = cover(builder_, outputs_, options_.target, options_.program);
    if (!has_parameters && !wholes_.empty())
      if (std::vector<CoveredKernel> wholes = cover(builder_, wholes_, options_.target, options_.program); takes_less(wholes, kernels))
        kernels = std::move(wholes);
    for (CoveredKernel& k : kernels) {
      for (const KernelOutput& o : k.plan.outputs) buffers_.add_written(o, builder_);
      if (!k.tiling.kernel) {
        Tiling chosen = choose_tiling(builder_, k.plan, options_.target, options_.program);
        k.tiling = fit_tiling(builder_, k.plan, std::move(chosen), options_.target, options_.program);
      }
    }
    return kernels;
  }

  /// Compares the stored results of the kernels with the graph as it is written, for small instances.
  std::string comparison(const std::vector<CoveredKernel>& kernels) {
    std::vector<const LoopPlan*> plans;
    for (const CoveredKernel& k : kernels) plans.push_back(&k.plan);
    InstanceCheck instances(g_);
    const ProofResult proof = instances.run(axes_, pool_, results_, plans);
    return proof.is_refuted ? "refuted: " + proof.text : instances.text();
  }

  std::string name_state(Expr reduction) { return buffers_.name_state(pool_, reduction); }

 private:
  static bool is_result(const Segment& s, graph::NodeId n) { return std::find(s.results.begin(), s.results.end(), n) != s.results.end(); }

  const graph::Graph& g_;
  const KnownNodes known_;
  SequenceBuffers buffers_;
  ExprPool pool_;
  ExprBuilder builder_;
  const AxisAnalysis axes_;
  const std::vector<ZeroSign> zero_signs_;
  GraphToExprs translator_;
  const StepOptions& options_;
  std::vector<KernelOutput> outputs_, wholes_;  // wholes_: without pieces of concatenations
  std::vector<CheckedResult> results_;          // whose values the outputs are
};

std::string names(const graph::Graph& g, const StepOptions&) {
  const TensorNames all(g);
  std::string text;
  for (std::uint32_t i = 0; i < g.size(); ++i) text += fmt::format("node {}, {}: {}\n", i, graph::function_name(g.node({i})), all.of({i}));
  return text;
}

std::string segments(const graph::Graph& g, const StepOptions& options) { return segments_text(g, segments_of(g, options)); }

std::string axes(Derivation& d, const graph::Graph& g, const StepOptions&) { return axes_text(g, d.axes(), d.translator()); }

std::string expressions(Derivation& d, const graph::Graph&, const StepOptions&) { return outputs_text(d.outputs()); }

std::string parameters(Derivation& d, const graph::Graph&, const StepOptions&) {
  const std::vector<KernelOutput> ahead = d.fold_parameters();
  return fmt::format("when a parameter is given\n{}at each run\n{}", outputs_text(ahead), outputs_text(d.outputs()));
}

std::string plan(Derivation& d, const graph::Graph&, const StepOptions&) {
  d.fold_parameters();
  return best_plan(d.builder(), d.outputs()).text();
}

std::string state(Derivation& d, const graph::Graph&, const StepOptions&) {
  d.fold_parameters();
  const LoopPlan p = best_plan(d.builder(), d.outputs());
  std::string all;
  for (int pass = 1; pass <= static_cast<int>(p.states.size()); ++pass) all += merge_text(p, pass);
  return all;
}

std::string cover(Derivation& d, const graph::Graph&, const StepOptions&) { return cover_text(d.covered()); }

/// "kernel of a, b: ".
std::string heading(const CoveredKernel& k) {
  std::string written;
  for (const KernelOutput& o : k.plan.outputs) written += (written.empty() ? "" : ", ") + o.name;
  return fmt::format("kernel of {}: ", written);
}

std::string tiles(Derivation& d, const graph::Graph&, const StepOptions& options) {
  std::string all;
  for (const CoveredKernel& k : d.covered())
    all += fmt::format("{}{}\n{}", heading(k), k.plan.loop ? "loop over " + k.plan.loop->name : "no loop",
                       tiles_text(d.builder(), k.plan, k.tiling.sizes, options.target));
  return all;
}

std::string split(Derivation& d, const graph::Graph&, const StepOptions&) {
  std::string all;
  for (const CoveredKernel& k : d.covered()) {
    const SplitChoice& choice = k.tiling.split;
    all += heading(k) + (choice.parts == 1 ? "the loop is not divided" : choice.reason) + "\n";
    if (choice.parts == 1) continue;
    const SplitLoop loop = split_loop(d.builder(), k.plan, accumulator_order(k.plan, k.tiling.sizes), choice.parts,
                                      [&](Expr reduction) { return d.name_state(reduction); });
    std::int64_t at_once = 1;
    merge_tiles(k.plan, k.tiling.sizes, choice.parts, at_once);
    all += states_text(k.plan, loop) + fmt::format("{} at a time: {}", at_once, merge_text(k.plan, 1));
  }
  return all;
}

std::string checks(Derivation& d, const graph::Graph&, const StepOptions&) {
  const std::vector<CoveredKernel> kernels = d.covered();
  std::string all;
  for (const CoveredKernel& k : kernels) {
    const ProofResult& proof = k.proof;
    all += heading(k) + (proof.rounds > 0 ? fmt::format("exact at {} random points", proof.rounds) : proof.text) + "\n";
    for (const std::string& open : proof.left_open) all += fmt::format("  open: {}\n", open);
  }
  return all + d.comparison(kernels) + "\n";
}

/// The kernel, or the two of a divided loop.
std::vector<EmittedKernel> emitted(Derivation& d, CoveredKernel& k) {
  std::vector<EmittedKernel> kernels;
  std::string name;
  for (const KernelOutput& o : k.plan.outputs) name += (name.empty() ? "" : "_") + identifier(o.name);
  const TileSizes& sizes = k.tiling.sizes;
  if (const std::int64_t parts = k.tiling.split.parts; parts == 1) {
    kernels.push_back(emit_kernel(name, d.builder(), k.plan, sizes));
  } else {
    const SplitLoop loop =
        split_loop(d.builder(), k.plan, accumulator_order(k.plan, sizes), parts, [&](Expr reduction) { return d.name_state(reduction); });
    std::int64_t at_once = 1;
    const TileSizes merging = merge_tiles(k.plan, sizes, parts, at_once);
    kernels.push_back(emit_part_kernel(name + "_parts", d.builder(), k.plan, sizes, loop));
    kernels.push_back(emit_merge_kernel(name, d.builder(), k.plan, merging, loop, at_once));
  }
  return kernels;
}

std::string emission(Derivation& d, const graph::Graph&, const StepOptions&) {
  std::string all;
  for (CoveredKernel& k : d.covered())
    for (const EmittedKernel& e : emitted(d, k)) all += ir::print(e.function) + "\n";
  return all;
}

struct Step {
  std::string_view name;
  std::string (*of_segment)(Derivation&, const graph::Graph&, const StepOptions&);
  std::string (*of_graph)(const graph::Graph&, const StepOptions&) = nullptr;
};
constexpr Step kSteps[] = {
    {"names", nullptr, names},
    {"segments", nullptr, segments},
    {"axes", axes},
    {"expressions", expressions},
    {"parameters", parameters},
    {"plan", plan},
    {"state", state},
    {"cover", cover},
    {"tiles", tiles},
    {"split", split},
    {"checks", checks},
    {"emission", emission},
};

}  // namespace

std::vector<std::string_view> fusion_steps() {
  std::vector<std::string_view> names;
  for (const Step& s : kSteps) names.push_back(s.name);
  return names;
}

std::string print_step(std::string_view name, const graph::Graph& g, const StepOptions& options) {
  const Step& step = *std::find_if(std::begin(kSteps), std::end(kSteps), [&](const Step& s) { return s.name == name; });
  if (step.of_graph) return step.of_graph(g, options);
  const std::vector<Segment> segments = segments_of(g, options);
  std::string all;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments.size() > 1) all += fmt::format("segment {}\n", i);
    Derivation d(g, segments[i], options);
    all += step.of_segment(d, g, options);
  }
  return all;
}

}  // namespace tilewright::test
