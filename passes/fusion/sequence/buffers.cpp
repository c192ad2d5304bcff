// Assigns buffers to tensors and values.
#include "passes/fusion/sequence/buffers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/stored_tensor.h"
#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

using graph::NodeId;
using graph::Op;

namespace {

/// The node of which a value without a node is a part: the last product inside of it, else its last node.
NodeId whole_of(const graph::Graph& g, const ExprPool& pool, Expr value) {
  NodeId product, other;
  ExprSet seen;
  walk_inwards(value, seen, [&](Expr e) {
    const std::vector<NodeId>& sources = pool.sources(e);
    for (NodeId n : sources)
      if (NodeId& last = g.node(n).op == Op::einsum ? product : other; !last.valid() || last < n) last = n;
    return sources.empty();
  });
  return product.valid() ? product : other;
}

/// Makes a buffer for a node's value.
SequenceBuffer buffer_for(const graph::Graph& g, NodeId id, std::string name, BufferKind kind) {
  SequenceBuffer b;
  b.name = std::move(name);
  b.kind = kind;
  b.element = g.node(id).element;
  b.shape = g.node(id).shape;
  b.node = b.source = id;
  return b;
}

}  // namespace

SequenceBuffers::SequenceBuffers(const graph::Graph& g, const KnownNodes& known) : g_(g), known_(known), names_(g) {
  for (std::size_t i = 0; i < g_.size(); ++i) {
    const NodeId id{static_cast<std::uint32_t>(i)};
    const graph::Node& n = g_.node(id);
    if (n.op != Op::input) continue;
    SequenceBuffer b = buffer_for(g, id, n.text, BufferKind::input);
    b.strides = n.lengths;
    b.is_parameter = n.is_parameter;
    b.is_used = false;
    by_node_[id] = add(std::move(b));
  }
  for (const graph::Output& o : g_.outputs()) add(buffer_for(g, o.node, o.name, BufferKind::output));
}

int SequenceBuffers::add(SequenceBuffer b) {
  const int index = static_cast<int>(all_.size());
  if (b.kind == BufferKind::output) outputs_[b.node].push_back(index);
  named_.insert(b.name);
  all_.push_back(std::move(b));
  return index;
}

int SequenceBuffers::of(Tensor t) {
  if (t->node.valid()) return of(t->node);
  if (const auto known = by_tensor_.find(t->name); known != by_tensor_.end()) return known->second;
  SequenceBuffer b;
  b.name = t->name;
  b.kind = is_derived(t) ? BufferKind::derived : BufferKind::intermediate;
  b.element = t->element;
  b.shape = t->shape;
  if (const auto state = states_.find(t->name); state != states_.end()) std::tie(b.source, b.contents) = state->second;
  return by_tensor_[t->name] = add(std::move(b));
}

int SequenceBuffers::of(NodeId id) {
  if (const auto known = by_node_.find(id); known != by_node_.end()) return known->second;
  const graph::Node& n = g_.node(id);
  SequenceBuffer b =
      buffer_for(g_, id, name_for(id, BufferContents::value), known_.is_known(id) ? BufferKind::derived : BufferKind::intermediate);
  if (n.op == Op::constant) {
    b.kind = BufferKind::constant;
    b.data = n.data;
  }
  return by_node_[id] = add(std::move(b));
}

std::vector<int> SequenceBuffers::outputs_of(NodeId n) const {
  const auto at = outputs_.find(n);
  return at == outputs_.end() ? std::vector<int>() : at->second;
}

Tensor SequenceBuffers::output_tensor(const graph::Output& o, ExprPool& pool) {
  const graph::Node& n = g_.node(o.node);
  TensorInfo info;
  info.name = "out " + o.name;
  info.element = n.element;
  info.may_contain_logarithms = true;
  info.shape = n.shape;
  info.strides = row_major(n.shape);
  const Tensor t = pool.add_tensor(std::move(info));
  for (int i : outputs_of(o.node))
    if ((*this)[i].name == o.name) by_tensor_[t->name] = i;
  return t;
}

std::set<std::string> SequenceBuffers::store_in_outputs(const std::function<bool(NodeId)>& which) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const SequenceBuffer& b = all_[i];
    if (b.kind == BufferKind::output && which(b.node) && by_node_.emplace(b.node, static_cast<int>(i)).second) names.insert(b.name);
  }
  return names;
}

const std::string& SequenceBuffers::name_of(NodeId n) const {
  const auto known = by_node_.find(n);
  return known == by_node_.end() ? names_.of(n) : (*this)[known->second].name;
}

TensorLabel SequenceBuffers::labels() const {
  return [this](Tensor t) {
    if (t->node.valid()) return name_of(t->node);
    const auto known = by_tensor_.find(t->name);
    return known == by_tensor_.end() ? t->name : (*this)[known->second].name;
  };
}

std::string SequenceBuffers::name_for(NodeId source, BufferContents contents) {
  const std::string name = source.valid() ? name_of(source) : "value";
  if (contents == BufferContents::state) return names_.add(name + "_state");
  if (contents == BufferContents::part) return names_.add(name + "_part");
  return named_.contains(name) || !source.valid() ? names_.add(name) : name;
}

void SequenceBuffers::add_written(const KernelOutput& o, ExprBuilder& exprs) {
  const Tensor t = o.tensor;
  if (t->node.valid() || by_tensor_.contains(t->name) || is_derived(t)) return;
  // The load of a stored value has the value's sources; in the value itself, others may be replaced.
  const ExprPool& pool = exprs.pool();
  const Expr load = exprs.load(t, o.index);
  const std::vector<NodeId>& sources = pool.sources(load);
  const auto named = std::find_if(sources.begin(), sources.end(), [&](NodeId n) { return !g_.node(n).name.empty(); });
  SequenceBuffer b;
  b.kind = BufferKind::intermediate;
  b.element = t->element;
  b.shape = t->shape;
  b.source = named != sources.end() ? *named : sources.empty() ? whole_of(g_, pool, o.value) : sources.front();
  b.contents = pool.is_value_of_source(load) ? BufferContents::value : BufferContents::part;
  b.name = name_for(b.source, b.contents);
  by_tensor_[t->name] = add(std::move(b));
}

std::string SequenceBuffers::name_state(const ExprPool& pool, Expr reduction) {
  const NodeId source = whole_of(g_, pool, reduction);
  std::string name = name_for(source, BufferContents::state);
  states_[name] = {source, BufferContents::state};
  return name;
}

std::string SequenceBuffers::name_derived(const std::vector<Tensor>& read) {
  std::set<std::string> names;
  for (Tensor t : read) names.insert(t->node.valid() ? name_of(t->node) : t->name);
  return name_derived(std::vector<std::string>(names.begin(), names.end()));
}

std::string SequenceBuffers::joined(const std::vector<std::string>& read) {
  std::string name;
  for (std::size_t i = 0; i < std::min(read.size(), kMostJoinedNames); ++i) name += (i == 0 ? "" : "_") + identifier(read[i]);
  return read.size() == 1 ? name + "_folded" : name;
}

std::string SequenceBuffers::subject_of(int i) const {
  const SequenceBuffer& b = (*this)[i];
  if (const auto read = derived_.find(b.name); read != derived_.end()) return joined(read->second);
  const bool is_part = b.contents != BufferContents::value && b.source.valid();
  return identifier(is_part ? name_of(b.source) : b.name);
}

std::string SequenceBuffers::subject_of(const std::vector<int>& written) const {
  std::vector<std::string> names;
  for (int b : written)
    if (std::string name = subject_of(b); std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  if (names.size() > kMostJoinedNames) return fmt::format("{}_and_{}_more", names[0], names.size() - 1);
  return fmt::format("{}", fmt::join(names, "_"));
}

std::string SequenceBuffers::name_derived(std::vector<std::string> read) {
  std::string name = names_.add(joined(read));
  derived_[name] = std::move(read);
  return name;
}

int SequenceBuffers::add_like(int i, const std::map<NodeId, NodeId>& nodes, const std::map<std::string, std::string>& names) {
  SequenceBuffer b = (*this)[i];
  if (const auto read = derived_.find(b.name); read != derived_.end()) {
    std::vector<std::string> own = read->second;
    for (std::string& name : own)
      if (const auto there = names.find(name); there != names.end()) name = there->second;
    b.name = name_derived(std::move(own));
  } else {
    for (NodeId* n : {&b.node, &b.source})
      if (const auto there = nodes.find(*n); there != nodes.end()) *n = there->second;
    b.name = name_for(b.source, b.contents);
  }
  return add(std::move(b));
}

std::vector<SequenceBuffer> SequenceBuffers::finish(const std::vector<SequenceKernel>& kernels,
                                                    const std::vector<SequenceKernel>& parameter_kernels) && {
  std::vector<bool> is_kept(all_.size());
  for (const SequenceKernel& k : kernels)
    for (int b : k.reads) all_[b].is_used = is_kept[b] = true;
  for (const SequenceKernel& k : parameter_kernels)
    for (int b : k.reads) all_[b].is_used = true;
  // A buffer that only parameter kernels read is not kept between runs.
  for (std::size_t b = 0; b < all_.size(); ++b)
    if (all_[b].kind == BufferKind::derived && !is_kept[b]) all_[b].kind = BufferKind::intermediate;
  return std::move(all_);
}

}  // namespace tilewright::passes::fusion
