// Runs the steps up to one, segment by segment, and prints what it gives.
#include "fusion_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "passes/fusion/cover/cover.h"
#include "passes/fusion/cover/cover_text.h"
#include "passes/fusion/graph/segments.h"
#include "passes/fusion/graph/segments_text.h"
#include "passes/fusion/plan/outputs_text.h"
#include "passes/fusion/program/buffers.h"
#include "passes/fusion/tiles/split_loop.h"
#include "passes/fusion/tiles/tiling_text.h"
#include "passes/fusion/translate/axes_text.h"
#include "passes/fusion/translate/graph_to_exprs.h"
#include "passes/fusion/translate/parameters.h"

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
        translator_(g, axes_, builder_,
                    {o.program.reassociate && o.program.move_rounding, [this](graph::NodeId n) { return buffers_.name_of(n); }}),
        options_(o) {
    buffers_.store_in_outputs([&](graph::NodeId n) { return !has_own_memory(g.node(n)); });
    for (const graph::Output& o : g.outputs())
      if (is_result(s, o.node)) add({o.name, {}, buffers_.output_tensor(o, pool_), {}}, o.node);
    for (graph::NodeId n : s.results)
      if (buffers_.outputs_of(n).empty()) add({buffers_.name_of(n), {}, translator_.tensor_of(n), {}}, n);
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
    fold_parameters();
    std::vector<CoveredKernel> kernels = cover(builder_, outputs_, options_.target, options_.program);
    for (CoveredKernel& k : kernels) {
      for (const KernelOutput& o : k.plan.outputs) buffers_.add_written(o, builder_);
      if (!k.tiling.kernel) k.tiling = fit_tiling(builder_, k.plan, options_.target, options_.program);
    }
    return kernels;
  }

  std::string name_state(Expr reduction) { return buffers_.name_state(pool_, reduction); }

 private:
  static bool is_result(const Segment& s, graph::NodeId n) { return std::find(s.results.begin(), s.results.end(), n) != s.results.end(); }

  void add(KernelOutput o, graph::NodeId n) {
    BoundValue v = translator_.translate(n);
    o.value = v.value, o.index = std::move(v.index);
    outputs_.push_back(std::move(o));
  }

  const graph::Graph& g_;
  const KnownNodes known_;
  ProgramBuffers buffers_;
  ExprPool pool_;
  ExprBuilder builder_;
  const AxisAnalysis axes_;
  GraphToExprs translator_;
  const StepOptions& options_;
  std::vector<KernelOutput> outputs_;
};

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
  const Plan p = best_plan(d.builder(), d.outputs());
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

struct Step {
  std::string_view name;
  std::string (*print)(Derivation&, const graph::Graph&, const StepOptions&);  // of one segment; null: of all
};
constexpr Step kSteps[] = {
    {"segments", nullptr},      {"axes", axes},   {"expressions", expressions},
    {"parameters", parameters}, {"plan", plan},   {"state", state},
    {"cover", cover},           {"tiles", tiles}, {"split", split},
};

}  // namespace

std::vector<std::string_view> fusion_steps() {
  std::vector<std::string_view> names;
  for (const Step& s : kSteps) names.push_back(s.name);
  return names;
}

std::string print_step(std::string_view name, const graph::Graph& g, const StepOptions& options) {
  const Step& step = *std::find_if(std::begin(kSteps), std::end(kSteps), [&](const Step& s) { return s.name == name; });
  const std::vector<Segment> segments = segments_of(g, options);
  if (!step.print) return segments_text(g, segments);
  std::string all;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments.size() > 1) all += fmt::format("segment {}\n", i);
    Derivation d(g, segments[i], options);
    all += step.print(d, g, options);
  }
  return all;
}

}  // namespace tilewright::test
