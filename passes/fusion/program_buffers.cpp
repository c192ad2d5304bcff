// Gives tensors and values their buffers.
#include "passes/fusion/program_buffers.h"

#include <fmt/format.h>

#include <algorithm>

#include "passes/fusion/stored_tensor.h"

namespace tilewright::passes::fusion {

using graph::NodeId;
using graph::Op;

namespace {

std::string key_of(NodeId id) { return "%" + std::to_string(id.index); }

/// A buffer for a node's value.
ProgramBuffer buffer_for(const graph::Graph& g, NodeId id, std::string name, BufferKind kind) {
  ProgramBuffer b;
  b.name = std::move(name);
  b.kind = kind;
  b.element = g.node(id).element;
  b.shape = g.node(id).shape;
  b.node = id;
  return b;
}

}  // namespace

ProgramBuffers::ProgramBuffers(const graph::Graph& g, const KnownNodes& known) : g_(g), known_(known) {
  for (std::size_t i = 0; i < g_.size(); ++i) {
    const NodeId id{static_cast<std::uint32_t>(i)};
    const graph::Node& n = g_.node(id);
    if (n.op != Op::input) continue;
    ProgramBuffer b = buffer_for(g, id, n.text, BufferKind::input);
    b.strides = n.lengths;
    b.is_parameter = n.is_parameter;
    b.is_used = false;
    all_.push_back(std::move(b));
  }
  for (const graph::Output& o : g_.outputs()) {
    const graph::Node& n = g_.node(o.node);
    ProgramBuffer b;
    b.name = o.name;
    b.kind = BufferKind::output;
    b.element = n.element;
    b.shape = n.shape;
    b.node = o.node;
    all_.push_back(std::move(b));
  }
}

int ProgramBuffers::of(Tensor t) {
  if (t->node.valid()) return of(t->node);
  if (const auto known = by_key_.find(t->name); known != by_key_.end()) return known->second;
  ProgramBuffer b;
  b.name = t->name;
  b.kind = is_derived(t) ? BufferKind::derived : BufferKind::intermediate;
  b.element = t->element;
  b.shape = t->shape;
  return add(t->name, std::move(b));
}

int ProgramBuffers::of(NodeId id) {
  const graph::Node& n = g_.node(id);
  const std::string key = n.op == Op::input ? n.text : key_of(id);
  if (const auto known = by_key_.find(key); known != by_key_.end()) return known->second;
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (all_[i].kind == BufferKind::input && all_[i].node == id) return by_key_[key] = static_cast<int>(i);
  ProgramBuffer b = buffer_for(g_, id, text_of(id), known_.is_known(id) ? BufferKind::derived : BufferKind::intermediate);
  if (n.op == Op::constant) {
    b.kind = BufferKind::constant;
    b.data = n.data;
  }
  return add(key, std::move(b));
}

int ProgramBuffers::add(const std::string& key, ProgramBuffer b) {
  all_.push_back(std::move(b));
  return by_key_[key] = static_cast<int>(all_.size()) - 1;
}

std::vector<int> ProgramBuffers::outputs_of(NodeId n) const {
  std::vector<int> found;
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (all_[i].kind == BufferKind::output && all_[i].node == n) found.push_back(static_cast<int>(i));
  return found;
}

Tensor ProgramBuffers::output_tensor(const graph::Output& o, ExprPool& pool) {
  const graph::Node& n = g_.node(o.node);
  TensorInfo info;
  info.name = "out " + o.name;
  info.element = n.element;
  info.shape = n.shape;
  info.strides = row_major(n.shape);
  const Tensor t = pool.add_tensor(std::move(info));
  for (int i : outputs_of(o.node))
    if ((*this)[i].name == o.name) by_key_[t->name] = i;
  return t;
}

std::set<std::string> ProgramBuffers::store_in_outputs(const std::function<bool(NodeId)>& which) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const ProgramBuffer& b = all_[i];
    if (b.kind == BufferKind::output && which(b.node) && by_key_.emplace(key_of(b.node), static_cast<int>(i)).second) names.insert(b.name);
  }
  return names;
}

std::string ProgramBuffers::name_derived(const std::string& wanted) {
  std::string name = unique_name(wanted);
  derived_.insert(name);
  return name;
}

std::string ProgramBuffers::unique_name(const std::string& wanted) const {
  std::string name = wanted;
  const auto is_taken = [&] {
    return by_key_.contains(name) || derived_.contains(name) ||
           std::any_of(all_.begin(), all_.end(), [&](const ProgramBuffer& b) { return b.name == name; });
  };
  for (int i = 2; is_taken(); ++i) name = fmt::format("{}.{}", wanted, i);
  return name;
}

bool ProgramBuffers::is_prefix_of_a_name(const std::string& prefix) const {
  return std::any_of(all_.begin(), all_.end(), [&](const ProgramBuffer& b) { return b.name.starts_with(prefix); });
}

int ProgramBuffers::add_like(int i, const std::string& wanted) {
  ProgramBuffer b = (*this)[i];
  b.name = b.kind == BufferKind::derived ? unique_name(wanted) : fmt::format("t{}", take_numbers(1));
  all_.push_back(std::move(b));
  return static_cast<int>(all_.size()) - 1;
}

int ProgramBuffers::take_numbers(int count) {
  const int first = numbers_;
  numbers_ += count;
  return first;
}

std::string ProgramBuffers::text_of(NodeId n) const {
  const graph::Node& node = g_.node(n);
  return !node.name.empty() ? node.name : key_of(n);
}

std::vector<ProgramBuffer> ProgramBuffers::finish(const std::vector<ProgramKernel>& kernels,
                                                  const std::vector<ProgramKernel>& parameter_kernels) && {
  std::vector<bool> is_kept(all_.size());
  for (const ProgramKernel& k : kernels)
    for (int b : k.reads) all_[b].is_used = is_kept[b] = true;
  for (const ProgramKernel& k : parameter_kernels)
    for (int b : k.reads) all_[b].is_used = true;
  // What only parameter kernels read is not kept from run to run.
  for (std::size_t b = 0; b < all_.size(); ++b)
    if (all_[b].kind == BufferKind::derived && !is_kept[b]) all_[b].kind = BufferKind::intermediate;
  return std::move(all_);
}

}  // namespace tilewright::passes::fusion
