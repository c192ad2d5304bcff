// Interns expressions, and notes their sources and how they are written.
#include "passes/fusion/expr/expr_pool.h"

#include <algorithm>

#include "passes/fusion/expr/expr_facts.h"
#include "passes/fusion/expr/expr_walk.h"
#include "tileir/diagnostics.h"

namespace tilewright::passes::fusion {

namespace {

// Two lanes of a multiplicative hash; the constants are those of splitmix64 and PCG.
class ContentHash {
 public:
  void add(std::uint64_t word) {
    low_ = (low_ ^ word) * 0xbf58476d1ce4e5b9u;
    low_ ^= low_ >> 29;
    high_ = (high_ + word) * 0x5851f42d4c957f2du;
    high_ ^= high_ >> 31;
    high_ += low_ >> 7;
  }
  void add(const std::string& text) {
    add(text.size());
    for (char c : text) add(static_cast<unsigned char>(c));
  }
  void add(const Rational& r) {
    for (ir::Int128 part : {r.numerator(), r.denominator()}) {
      add(static_cast<std::uint64_t>(part));
      add(static_cast<std::uint64_t>(part >> 64));
    }
  }
  void add(Expr e) {
    add(e->key.low);
    add(e->key.high);
  }
  ExprKey key() const { return {high_, low_}; }

 private:
  std::uint64_t low_ = 0x9e3779b97f4a7c15u, high_ = 0x14057b7ef767814fu;
};

ExprKey key_of(const ExprData& e) {
  ContentHash h;
  h.add(static_cast<std::uint64_t>(e.kind));
  h.add(static_cast<std::uint64_t>(e.element));
  h.add(e.number);
  for (const Term& t : e.terms) h.add(t.coefficient), h.add(t.value);
  for (const Factor& f : e.factors) h.add(f.base), h.add(f.exponent);
  for (Expr x : e.operands) h.add(x);
  h.add(static_cast<std::uint64_t>(e.function));
  h.add(static_cast<std::uint64_t>(e.combine));
  h.add(static_cast<std::uint64_t>(e.operand_element.element));
  h.add(static_cast<std::uint64_t>(e.operand_element.precision));
  for (Axis a : e.bound) h.add(a->name);
  for (Axis a : e.hides) h.add(a->name);
  if (e.hidden_tensors) {
    h.add(e.hidden_tensors->size());
    for (Tensor t : *e.hidden_tensors) h.add(t->name);
  }
  if (e.axis) h.add(e.axis->name);
  if (e.tensor) h.add(e.tensor->name);
  if (e.kind == ExprKind::extent) h.add(e.extent.text());
  h.add(e.bits);
  return h.key();
}

bool same_contents(const ExprData& a, const ExprData& b) {
  return a.kind == b.kind && a.element == b.element && a.number == b.number && a.terms == b.terms && a.factors == b.factors &&
         a.operands == b.operands && a.function == b.function && a.combine == b.combine && a.operand_element == b.operand_element &&
         a.bound == b.bound && a.hides == b.hides && a.hidden_tensors == b.hidden_tensors && a.axis == b.axis && a.tensor == b.tensor &&
         a.extent == b.extent && a.bits == b.bits;
}

}  // namespace

// ---- expressions, axes, tensors and functions ----

Expr ExprPool::intern(ExprData e) {
  steps_.take(1);
  e.key = key_of(e);
  const auto at = by_key_.find(e.key);
  if (at != by_key_.end()) {
    TW_CHECK(same_contents(*at->second, e), "fusion: two expressions have one hash");
    return Expr(at->second);
  }
  set_facts(e);
  exprs_.push_back(std::move(e));
  by_key_.emplace(exprs_.back().key, &exprs_.back());
  return Expr(&exprs_.back());
}

Axis ExprPool::axis(const std::string& name, const Dim& extent, const std::string& label, std::vector<AxisData::Label> labels) {
  if (const Axis known = find_axis(name)) return known;
  axes_.push_back({name, label.empty() ? name : label, extent, static_cast<std::uint32_t>(axes_.size()), std::move(labels)});
  axis_by_name_.emplace(name, &axes_.back());
  return &axes_.back();
}

Axis ExprPool::find_axis(const std::string& name) const {
  const auto at = axis_by_name_.find(name);
  return at == axis_by_name_.end() ? nullptr : at->second;
}

Tensor ExprPool::add_tensor(TensorInfo tensor) {
  if (const Tensor known = find_tensor(tensor.name)) return known;
  tensors_.push_back(std::move(tensor));
  tensor_by_name_.emplace(tensors_.back().name, &tensors_.back());
  return &tensors_.back();
}

Tensor ExprPool::find_tensor(const std::string& name) const {
  const auto at = tensor_by_name_.find(name);
  return at == tensor_by_name_.end() ? nullptr : at->second;
}

namespace {

bool is_same(const graph::Graph& a, graph::NodeId x, const graph::Graph& b, graph::NodeId y) {
  const graph::Node &m = a.node(x), &n = b.node(y);
  if (m.op != n.op || m.element != n.element || m.function != n.function || m.position != n.position ||
      m.operands.size() != n.operands.size() ||
      (m.data ? m.data->bits : std::vector<std::uint64_t>()) != (n.data ? n.data->bits : std::vector<std::uint64_t>()))
    return false;
  for (std::size_t i = 0; i < m.operands.size(); ++i)
    if (!is_same(a, m.operands[i], b, n.operands[i])) return false;
  return true;
}

}  // namespace

std::uint32_t ExprPool::add_function(const CombiningFunction& f) {
  for (std::size_t i = 0; i < functions_.size(); ++i)
    if (functions_[i].identity == f.identity && is_same(*functions_[i].graph, functions_[i].result, *f.graph, f.result))
      return static_cast<std::uint32_t>(i);
  functions_.push_back(f);
  return static_cast<std::uint32_t>(functions_.size()) - 1;
}

// ---- sources ----

const std::vector<graph::NodeId>& ExprPool::sources(Expr e) const {
  static const std::vector<graph::NodeId> kNone;
  const auto at = sources_.find(e.operator->());
  return at == sources_.end() ? kNone : at->second;
}

Location ExprPool::where(Expr e) const {
  if (!graph_) return {};
  for (graph::NodeId n : sources(e))
    if (const graph::Node& node = graph_->node(n); !node.operands.empty() && node.where.line > 0) return node.where;
  return {};
}

void ExprPool::note_source(Expr e, graph::NodeId node) {
  std::vector<graph::NodeId>& nodes = sources_[e.operator->()];
  // If the expression was known as a part of another node's value and now has a node of its own, that node takes priority.
  const bool was_part = parts_.erase(e.operator->()) != 0;
  if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.insert(was_part ? nodes.begin() : nodes.end(), node);
  // A sum from which the normal form has taken factors is the value of no node. It is part of this node's value, but not of any operand's.
  ExprSet seen;
  const auto is_without_node = [&](Expr x) { return x->holds(ExprKind::reduce) && (x == e || sources_.count(x.operator->()) == 0); };
  walk(e, seen, is_without_node, [&](Expr x) {
    if (x == e || !x->is(ExprKind::reduce)) return;
    sources_[x.operator->()] = {node};
    parts_.insert(x.operator->());
  });
}

void ExprPool::copy_sources(Expr from, Expr to) {
  for (graph::NodeId n : std::vector(sources(from))) note_source(to, n);
  if (parts_.contains(from.operator->())) parts_.insert(to.operator->());
}

bool ExprPool::is_value_of_source(Expr e) const { return !sources(e).empty() && !parts_.contains(e.operator->()); }

graph::NodeId nearest_source(const ExprPool& pool, Expr e) {
  const Expr nearest = find_first(e, [&](Expr x) { return !pool.sources(x).empty(); });
  return nearest ? pool.sources(nearest).front() : graph::NodeId{};
}

Expr ExprPool::stored_value(Expr load) const {
  const auto known = stored_.find(load.operator->());
  return known == stored_.end() ? Expr() : known->second;
}

void ExprPool::note_stored_value(Expr load, Expr value) { stored_.emplace(load.operator->(), value); }

// ---- how values are written ----

const WrittenValue* ExprPool::written_value(Expr e) const {
  const auto at = written_.find(e.operator->());
  return at == written_.end() || !at->second.left ? nullptr : &at->second;
}

void ExprPool::note_written_value(Expr value, const WrittenValue& written) {
  if (!written_.emplace(value.operator->(), written).second) return;
  const auto note_multiple = [&](Expr sum, Expr multiple) {
    if (!sum->is(ExprKind::add) || !ir::is_float(sum->element)) return;
    if (const std::optional<ExprKey> key = key_of_multiples(sum)) written_multiples_.emplace(*key, multiple);
  };
  // A part that has not been noted as a product or sum by now never is: otherwise two values could be parts of each other. The same holds
  // for the multiples of a part.
  for (Expr part : {written.left, written.right})
    if (part) written_.emplace(part.operator->(), WrittenValue()), note_multiple(part, {});
  if (written.kind == WrittenValue::Kind::sum) note_multiple(value, value);
}

std::optional<ExprKey> key_of_multiples(Expr sum) {
  const auto first = std::find_if(sum->terms.begin(), sum->terms.end(), [](const Term& t) { return !t.coefficient.is_zero(); });
  if (first == sum->terms.end()) return std::nullopt;
  ContentHash h;
  try {
    for (const Term& t : sum->terms) h.add(t.value), h.add(t.coefficient / first->coefficient);
  } catch (const ir::RationalOverflow&) {
    return std::nullopt;
  }
  return h.key();
}

std::optional<Expr> ExprPool::written_multiple(const ExprKey& key) const {
  const auto at = written_multiples_.find(key);
  return at == written_multiples_.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace tilewright::passes::fusion
