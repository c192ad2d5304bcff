// Compiles graphs to plans.
#include "frontend/graph/compile.h"

#include <fmt/format.h>

#include "backend/compile.h"
#include "frontend/graph/measure_graphs.h"
#include "frontend/graph/rewrite_graph.h"
#include "passes/fusion/graph/checked_indices.h"
#include "passes/fusion/graph/folded_constants.h"
#include "passes/fusion/graph/kept_values.h"
#include "passes/fusion/sequence/build_sequence.h"
#include "runtime/active_call.h"
#include "runtime/dump.h"
#include "runtime/environment.h"
#include "runtime/host/cpu_model.h"
#include "runtime/plan/plan_state.h"
#include "runtime/plan/sizes.h"
#include "runtime/plan/symbol_values.h"
#include "tileir/graph/text/graph_text.h"
#include "tilewright/graph.h"
#include "tilewright/kernel_key.h"

namespace tilewright {

namespace fusion = passes::fusion;

namespace {

/// The description of a target. An unknown name is an error at the user's line.
ir::TargetDesc describe(const std::string& target, const Here& at) {
  try {
    return backend::describe_target(target);
  } catch (const Error& e) {
    const std::string_view text = e.what();
    const auto message = text.find("error: ");
    throw Error(detail::location_of(at), fmt::format("compile: {}", text.substr(message == text.npos ? 0 : message + 7)));
  }
}

/// Writes dumps for TILEWRIGHT_DUMP: first the graph, so that it exists even if a compiler bug follows, then the results.
class GraphDump {
 public:
  GraphDump(const graph::Graph& g, const std::string& target, const Here& at) {
    const std::string folder = rt::environment_dump();
    if (folder.empty()) return;
    const std::string text = graph::print(g, {.locations = true});
    detail::KernelKey key;
    key.add_bytes(text.data(), text.size());
    key.add_bytes(target.data(), target.size());
    folder_.emplace(folder, "plan", key.hash(), detail::location_of(at));
    folder_->write("formulas", text);
  }
  void write(const detail::PlanState& plan) {
    if (!folder_) return;
    folder_->write("explain", plan.explain());
    folder_->write("picture", plan.explain_svg());
  }

 private:
  std::optional<detail::DumpFolder> folder_;
};

struct DerivedGraph {
  std::shared_ptr<const graph::Graph> graph;
  fusion::KernelSequence sequence;
  bool stores_indices = false;
};

DerivedGraph derive(std::shared_ptr<const graph::Graph> g, const fusion::FusionOptions& options, const ir::TargetDesc& target,
                    bool is_checked) {
  const std::size_t nodes = g->size();
  if (is_checked) g = std::make_shared<const graph::Graph>(fusion::with_checked_indices(*g));
  fusion::KernelSequence p = fusion::build_sequence(*g, options, target);
  for (auto* kernels : {&p.kernels, &p.parameter_kernels})
    for (fusion::SequenceKernel& k : *kernels) k.check = k.check || is_checked;
  return {g, std::move(p), g->size() > nodes};
}

/// The graph without what each plan does alike: constants are folded, and what is in memory is read there.
std::shared_ptr<const graph::Graph> simplified(std::shared_ptr<const graph::Graph> g) {
  for (const auto simplify : {fusion::with_folded_constants, fusion::with_kept_values_read})
    if (std::optional<graph::Graph> simple = simplify(*g)) g = std::make_shared<const graph::Graph>(std::move(*simple));
  return g;
}

/// The bytes of the workspace where symbols have their least values.
std::uint64_t least_workspace(const DerivedGraph& d) {
  const detail::SequenceSizes sizes(*d.graph, d.sequence);
  std::vector<std::int64_t> least;
  for (std::uint32_t s = 0; s < sizes.table().size(); ++s) least.push_back(detail::least_value(sizes.table()[s].bounds));
  return sizes.of_report(least).workspace_bytes;
}

std::shared_ptr<const graph::Graph> snapshot_of(const Graph& g, const Here& at) {
  auto snapshot = std::make_shared<const graph::Graph>(*detail::tensor::nodes_of(g, "compile", at));
  if (snapshot->outputs().empty()) throw Error(detail::location_of(at), "compile: the graph has no output; Graph::output names one");
  return snapshot;
}

}  // namespace

Plan detail::compile_graph(const std::shared_ptr<const graph::Graph>& written, std::shared_ptr<rt::Device> device,
                           const std::string& target, const PlanOptions& o, const Here& at) {
  if (const std::string mistake = rt::environment_mistake(); !mistake.empty()) throw Error(detail::location_of(at), mistake);
  ir::TargetDesc facts = describe(target, at);
  if (!facts.is_gpu()) facts.processors = device ? device->host_threads() : rt::cpu_threads();
  GraphDump dump(*written, target, at);
  fusion::FusionOptions options{.fuse = o.fuse,
                                .reassociate = o.reassociate,
                                .move_rounding = o.move_rounding,
                                .deterministic = o.deterministic,
                                .batch_invariant = o.batch_invariant,
                                .max_workspace = o.max_workspace};
  check_search_options(o, location_of(at));
  const std::shared_ptr<const graph::Graph> nodes = simplified(written);
  if (o.search == Search::measure && !device)
    throw Error(
        location_of(at),
        "compile: Search::measure runs graphs, and needs a device; Search::estimate is for targets without one, such as '" + target + "'");
  const bool is_checked = o.check || rt::environment_check();
  const auto compile_as_is = [&](const std::shared_ptr<const graph::Graph>& g) {
    PlanOptions as_is = o;
    as_is.search = Search::off;
    return compile_graph(g, device, target, as_is, at);
  };
  // A rewritten graph is compared with the graph as written after its kernels are derived, so that it is derived once.
  std::optional<DerivedGraph> known;
  const auto derive_rewritten = [&](const graph::Graph& g) {
    known = derive(std::make_shared<const graph::Graph>(g), options, facts, false);
    return known->sequence.seconds;
  };
  RewrittenGraph rewritten = rewrite_graph(nodes, o, options, facts, GraphMeasurer(device, o, compile_as_is, at),
                                           is_checked ? DeriveGraph() : DeriveGraph(derive_rewritten));
  DerivedGraph derived = known && rewritten.is_rewritten() ? std::move(*known) : derive(rewritten.graph, options, facts, is_checked);
  if (rewritten.is_rewritten() && least_workspace(derived) > o.max_workspace) {
    rewritten.search.not_done.assign(1, fmt::format("all of it: it needs more than max_workspace, {} bytes", o.max_workspace));
    rewritten.search.rewrites.clear();
    rewritten.search.report.seconds_after = rewritten.search.report.seconds_before;
    derived = derive(nodes, options, facts, is_checked);
  }
  if (rewritten.is_rewritten())
    derived.sequence.proof.text += "; the parts that were rewritten agree with the graph as written at small instances";
  PlanParts parts{.graph = derived.graph,
                  .sequence = std::move(derived.sequence),
                  .unfused = {},
                  .device = std::move(device),
                  .target = target,
                  .max_workspace = o.max_workspace,
                  .stores_indices = derived.stores_indices,
                  .search = std::move(rewritten.search)};
  options.fuse = false;
  parts.unfused = [graph = derived.graph, options, facts] { return fusion::build_sequence(*graph, options, facts); };
  const std::shared_ptr<PlanState> state = make_plan_state(std::move(parts), at);
  dump.write(*state);
  return Plan(state);
}

Plan Graph::compile(const Device& device, const PlanOptions& options, Here at) const {
  const rt::ActiveCall call(at);
  return detail::compile_graph(snapshot_of(*this, at), device.handle(), device.handle()->target(), options, at);
}

Plan Graph::compile(std::string_view target, const PlanOptions& options, Here at) const {
  const rt::ActiveCall call(at);
  return detail::compile_graph(snapshot_of(*this, at), nullptr, std::string(target), options, at);
}

}  // namespace tilewright
