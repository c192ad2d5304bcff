// Maps nodes, and the buffers that kernels read and write, from one segment to the other.
#include "passes/fusion/sequence/repeat_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "passes/fusion/graph/replaced_symbols.h"
#include "passes/fusion/sequence/kernel_arguments.h"
#include "tileir/graph/symbols.h"

namespace tilewright::passes::fusion {

using graph::NodeId;
using graph::Op;

namespace {

class Repetition {
 public:
  /// Keeps the reference to the buffers.
  Repetition(const graph::Graph&, SequenceBuffers&, const Segment& derived, const Segment& like);
  /// A kernel of the derived segment with the buffers of the other segment, and without a name of its own.
  SequenceKernel kernel(const SequenceKernel&);

 private:
  int buffer(int);
  void replace(Dim&) const;

  const SymbolTable& table_;
  SequenceBuffers& buffers_;
  std::map<int, int> known_;
  std::map<NodeId, NodeId> nodes_;
  std::map<std::string, std::string> names_;
  std::map<std::uint32_t, Dim> begins_;  // the begins of slices, by symbol, if they are arguments (alike_segments.h)
};

Repetition::Repetition(const graph::Graph& g, SequenceBuffers& buffers, const Segment& derived, const Segment& like)
    : table_(*g.symbols()), buffers_(buffers) {
  // A value that is a part of a concatenation has no memory of its own.
  const auto is_stored = [&](NodeId n) {
    const bool is_result = !derived.joined && std::binary_search(derived.results.begin(), derived.results.end(), n);
    return is_result || derived.memory.contains(n);
  };
  for (std::size_t i = 0; i < like.nodes.size(); ++i) {
    const NodeId from = derived.nodes[i], to = like.nodes[i];
    nodes_[from] = to;
    const Op op = g.node(from).op;
    if (op == Op::slice && !derived.memory.contains(from) && g.node(from).lengths[0] != g.node(to).lengths[0])
      begins_.emplace(g.node(from).lengths[0].symbols()[0], g.node(to).lengths[0]);
    if (op == Op::input || op == Op::scalar) names_[g.node(from).text] = g.node(to).text;
    if (op != Op::input && op != Op::constant && !is_stored(from)) continue;
    if (op == Op::constant && g.node(from).data->bits.size() == 1) continue;
    known_[buffers_.of(from)] = buffers_.of(to);
  }
  if (like.joined)
    known_[buffers_.of(derived.joined->whole)] = buffers_.of(like.joined->whole);
  else
    for (NodeId n : derived.results) {
      const std::vector<int> from = buffers_.outputs_of(n), to = buffers_.outputs_of(nodes_.at(n));
      for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i) known_[from[i]] = to[i];
    }
  for (auto [from, to] : known_) names_[buffers_[from].name] = buffers_[to].name;
}

int Repetition::buffer(int b) {
  if (const auto known = known_.find(b); known != known_.end()) return known->second;
  const int own = buffers_.add_like(b, nodes_, names_);
  names_[buffers_[b].name] = buffers_[own].name;
  return known_[b] = own;
}

void Repetition::replace(Dim& d) const {
  if (begins_.empty()) return;
  d = with_symbols(d, [&](std::uint32_t symbol) {
    const auto begin = begins_.find(symbol);
    return begin == begins_.end() ? table_.dim(symbol) : begin->second;
  });
}

SequenceKernel Repetition::kernel(const SequenceKernel& derived) {
  SequenceKernel k = derived;
  for (KernelArgument& a : k.arguments) {
    if (a.kind == KernelArgument::Kind::buffer) a.buffer = buffer(a.buffer);
    if (a.kind == KernelArgument::Kind::scalar) a.scalar = names_.at(a.scalar);
    if (a.kind == KernelArgument::Kind::extent) replace(a.extent);
  }
  for (int& b : k.reads) b = buffer(b);
  for (int& b : k.writes) b = buffer(b);
  k.parts.clear();
  for (const auto& [b, elements] : derived.parts) k.parts[buffer(b)] = elements;
  for (NodeId& n : k.covers)
    if (const auto own = nodes_.find(n); own != nodes_.end()) n = own->second;
  k.reason = fmt::format("the same formulas as in kernel {}, which has the same code", k.name);
  k.loop = {};
  k.error_text.clear();
  k.estimate.clear();
  return k;
}

void repeat(SequenceContext& c, std::vector<SequenceKernel>& kernels, const KernelRange& range, Repetition& repetition) {
  for (std::size_t i = range.begin; i < range.end; ++i) {
    SequenceKernel k = repetition.kernel(kernels[i]);
    k.name = c.kernel_name(k.writes);
    name_function(k, c.buffers);
    k.like = k.like < 0 ? static_cast<int>(i) : k.like;
    kernels.push_back(std::move(k));
  }
}

}  // namespace

void repeat_kernels(SequenceContext& c, const DerivedSegment& derived, const Segment& like) {
  Repetition repetition(c.graph, c.buffers, derived.segment, like);
  repeat(c, c.sequence.kernels, derived.kernels, repetition);
  repeat(c, c.sequence.parameter_kernels, derived.parameter_kernels, repetition);
}

}  // namespace tilewright::passes::fusion
