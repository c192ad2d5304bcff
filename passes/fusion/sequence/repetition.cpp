// Maps nodes, and the buffers that kernels read and write.
#include "passes/fusion/sequence/repetition.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::passes::fusion {

using graph::NodeId;
using graph::Op;

Repetition::Repetition(const graph::Graph& g, ProgramBuffers& buffers, const Segment& derived, const Segment& like) : buffers_(buffers) {
  // A value that is written to its place in a concatenation has no memory of its own.
  const auto is_stored = [&](NodeId n) {
    const bool is_result = !derived.joined && std::binary_search(derived.results.begin(), derived.results.end(), n);
    return is_result || derived.memory.contains(n);
  };
  for (std::size_t i = 0; i < like.nodes.size(); ++i) {
    const NodeId from = derived.nodes[i], to = like.nodes[i];
    nodes_[from] = to;
    const Op op = g.node(from).op;
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

SequenceKernel Repetition::kernel(const SequenceKernel& derived) {
  SequenceKernel k = derived;
  for (KernelArgument& a : k.arguments) {
    if (a.kind == KernelArgument::Kind::buffer) a.buffer = buffer(a.buffer);
    if (a.kind == KernelArgument::Kind::scalar) a.scalar = names_.at(a.scalar);
  }
  for (int& b : k.reads) b = buffer(b);
  for (int& b : k.writes) b = buffer(b);
  for (NodeId& n : k.covers)
    if (const auto own = nodes_.find(n); own != nodes_.end()) n = own->second;
  k.reason = fmt::format("the same formulas as in kernel {}, which has the same code", k.name);
  k.loop = {};
  k.error_text.clear();
  k.estimate.clear();
  return k;
}

}  // namespace tilewright::passes::fusion
