// Derives kernels of one node from memory to memory.
#include "passes/fusion/sequence/unfused_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "passes/fusion/graph/node_memory.h"
#include "passes/fusion/graph/views_in_row.h"
#include "passes/fusion/plan/best_plan.h"
#include "passes/fusion/report/covered_nodes.h"
#include "passes/fusion/segments/segment_parts.h"
#include "passes/fusion/segments/segment_structure.h"
#include "passes/fusion/sequence/emit_kernels.h"
#include "passes/fusion/sequence/formulas.h"
#include "passes/fusion/sequence/own_kernels.h"
#include "passes/fusion/sequence/repeat_kernels.h"
#include "passes/fusion/sequence/sequence_proof.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::passes::fusion {

using graph::NodeId;

namespace {

bool computes(const graph::Graph& g, NodeId n) { return !computes_nothing(g.node(n).op) && !graph::is_view(g.node(n).op); }

// Derives one kernel that computes a node from memory, to the node's own buffer or to an output.
void derive_alone(SequenceContext& c, NodeId n, std::set<NodeId> read, const graph::Output* output, const std::string& reason,
                  std::vector<SequenceKernel>& to) {
  Formulas f(c, {n}, std::move(read));
  const BoundValue v = f.translator.translate(n);
  f.add(n, output ? output->name : c.buffers.name_of(n), v, output ? c.buffers.output_tensor(*output, f.pool) : f.translator.tensor_of(n));
  LoopPlan plan = best_plan(f.exprs, f.outputs);
  check_results(c, f, {&plan});
  emit_plan(c, f.exprs, std::move(plan), reason, to);
}

// Derives kernels of single nodes, in the order of the graph. Nodes that compute the same of other tensors have one kernel.
class SingleNodes {
 public:
  explicit SingleNodes(SequenceContext& c) : c_(c), structure_(c.graph, c.known) {
    for (const SequenceKernel& k : c.sequence.parameter_kernels) written_ahead_.insert(k.writes.begin(), k.writes.end());
  }

  // Derives the kernel of one node. stored: values that are in memory, among them the node's operands.
  void derive(NodeId n, const std::set<NodeId>& stored) {
    if (c_.needs_no_kernel(n)) return;
    std::set<NodeId> read = stored_operands(c_.graph, n, stored);
    if (has_own_kernels(c_.graph.node(n).op)) return derive_own_kernels(c_, n, std::move(read));
    const bool is_ahead = can_be_ahead(n, read);
    if (is_ahead) written_ahead_.insert(c_.buffers.of(n));
    Segment s;
    s.results = {n};
    structure_.describe(s, [&](NodeId x) { return read.contains(x); });
    if (is_ahead) s.structure += "ahead\n";
    // What is stored elsewhere is not written to the output that another node is stored in.
    if (!c_.outputs_of(n).empty() && !is_in_output(n)) s.structure += "beside its outputs\n";
    const auto [known, is_new] = derived_.try_emplace(s.structure);
    if (!is_new) return repeat_kernels(c_, known->second, s);
    DerivedSegment& derived = known->second;
    derived.segment = std::move(s);
    derived.kernels.begin = c_.sequence.kernels.size();
    derived.parameter_kernels.begin = c_.sequence.parameter_kernels.size();
    derive_alone(c_, n, std::move(read), nullptr, "one node", is_ahead ? c_.sequence.parameter_kernels : c_.sequence.kernels);
    derived.kernels.end = c_.sequence.kernels.size();
    derived.parameter_kernels.end = c_.sequence.parameter_kernels.size();
  }
  bool is_ahead(NodeId n) { return written_ahead_.contains(c_.buffers.of(n)); }

 private:
  // A known value is computed before the runs, and kept, unless it is stored in an output or made of what a run computes.
  bool can_be_ahead(NodeId n, const std::set<NodeId>& read) {
    return c_.known.is_known(n) && !is_in_output(n) &&
           std::all_of(read.begin(), read.end(), [&](NodeId x) { return has_own_memory(c_.graph.node(x)) || is_ahead(x); });
  }

  bool is_in_output(NodeId n) { return c_.buffers[c_.buffers.of(n)].kind == BufferKind::output; }

  SequenceContext& c_;
  const SegmentStructure structure_;
  std::map<std::string, DerivedSegment> derived_;  // by structure
  std::set<int> written_ahead_;                    // buffers
};

void copy_output(SequenceContext& c, const graph::Output& o, const std::set<NodeId>& stored) {
  if (c.needs_no_kernel(o.node)) return;
  derive_alone(c, o.node, stored.contains(o.node) ? std::set<NodeId>{o.node} : stored_operands(c.graph, o.node, stored), &o, "an output",
               c.sequence.kernels);
}

}  // namespace

namespace {

// The nodes that have kernels of their own where nothing is fused.
std::set<NodeId> computed_nodes(const graph::Graph& g) {
  const std::vector<bool> needed = g.needed_nodes();
  std::set<NodeId> computed;
  ViewsInRow views(g);
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    if (!needed[i]) continue;
    if (views.ends_at({i}) || computes(g, {i})) computed.insert({i});
    // A kernel of the user reads its operands from memory.
    if (g.node({i}).op == graph::Op::call)
      for (NodeId x : g.node({i}).operands)
        if (!has_own_memory(g.node(x))) computed.insert(x);
  }
  return computed;
}

}  // namespace

std::vector<Segment> segments_of_nodes(const graph::Graph& g) {
  const KnownNodes known(g);
  const SegmentStructure structure(g, known);
  const std::set<NodeId> computed = computed_nodes(g);
  std::vector<Segment> segments;
  for (NodeId n : computed) {
    if (has_own_kernels(g.node(n).op)) continue;
    const std::set<NodeId> read = stored_operands(g, n, computed);
    Segment& s = segments.emplace_back();
    s.results = {n};
    structure.describe(s, [&](NodeId x) { return read.contains(x); });
    if (known.is_known(n)) s.ahead = {n};
  }
  return segments;
}

void derive_all_nodes(SequenceContext& c) {
  const graph::Graph& g = c.graph;
  const std::set<NodeId> computed = computed_nodes(g);
  // A node that is an output is stored there, and later nodes read it there; but a value that is known before a run is kept elsewhere.
  const std::set<std::string> written = c.buffers.store_in_outputs([&](NodeId n) { return computed.contains(n) && !c.known.is_known(n); });
  SingleNodes nodes(c);
  for (NodeId n : computed) nodes.derive(n, computed);
  for (const graph::Output& o : g.outputs())
    if (!written.contains(o.name)) copy_output(c, o, computed);
}

void derive_nodes(SequenceContext& c, const Segment& s, const std::string& why) {
  std::set<NodeId> stored = s.memory;
  std::vector<NodeId> computed;
  const AxisAnalysis axes(c.graph, s.results, s.memory);  // the nodes of combining functions, which have no values, are not among its nodes
  ViewsInRow views(c.graph);
  for (NodeId n : axes.nodes()) {
    const bool is_stored = views.ends_at(n) || computes(c.graph, n) || std::binary_search(s.results.begin(), s.results.end(), n);
    if (is_stored && stored.insert(n).second) computed.push_back(n);
  }
  SingleNodes nodes(c);
  for (NodeId n : computed) nodes.derive(n, stored);
  for (NodeId n : s.results) copy_outputs(c, n, stored, nodes.is_ahead(n));
  const Location& where = c.graph.node(s.results.back()).where;
  c.sequence.not_fused.push_back(fmt::format("not fused: node by node ({}:{}), because {}", where.file, where.line, why));
}

void copy_outputs(SequenceContext& c, NodeId n, const std::set<NodeId>& stored, bool is_kept) {
  const std::vector<const graph::Output*> outputs = c.outputs_of(n);
  for (std::size_t i = is_kept ? 0 : 1; i < outputs.size(); ++i) copy_output(c, *outputs[i], stored);
}

}  // namespace tilewright::passes::fusion
