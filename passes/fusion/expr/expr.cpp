// Implements sets of axes and the pool of expressions.
#include "passes/fusion/expr/expr.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/integer_range.h"
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
  if (e.axis) h.add(e.axis->name);
  if (e.tensor) h.add(e.tensor->name);
  if (e.kind == ExprKind::extent) h.add(e.extent.text());
  h.add(e.bits);
  return h.key();
}

bool same_contents(const ExprData& a, const ExprData& b) {
  return a.kind == b.kind && a.element == b.element && a.number == b.number && a.terms == b.terms && a.factors == b.factors &&
         a.operands == b.operands && a.function == b.function && a.combine == b.combine && a.operand_element == b.operand_element &&
         a.bound == b.bound && a.axis == b.axis && a.tensor == b.tensor && a.extent == b.extent && a.bits == b.bits;
}

// Whether the value is known to be at least 0 if it is a number.
bool compute_nonnegative(const ExprData& e) {
  const auto each_is = [](Expr x) { return x->is_nonnegative; };
  switch (e.kind) {
    case ExprKind::number:
    case ExprKind::infinity: return !e.number.is_negative();
    case ExprKind::constant: return std::bit_cast<double>(e.bits) >= 0;
    case ExprKind::extent:
    case ExprKind::index:
    case ExprKind::exp:
    case ExprKind::indicator:
    case ExprKind::random: return true;
    case ExprKind::load: return e.tensor->is_nonnegative;
    case ExprKind::add:
      return std::all_of(e.terms.begin(), e.terms.end(),
                         [](const Term& t) { return !t.coefficient.is_negative() && t.value->is_nonnegative; });
    case ExprKind::mul: return !e.number.is_negative() && std::all_of(e.factors.begin(), e.factors.end(), is_nonnegative);
    case ExprKind::function:
      return e.function == ir::OpKind::abs_ || (e.function == ir::OpKind::div_ && e.operands[0] == e.operands[1]) ||
             (e.function == ir::OpKind::maximum_ && std::any_of(e.operands.begin(), e.operands.end(), each_is));
    case ExprKind::select: return e.operands[1]->is_nonnegative && e.operands[2]->is_nonnegative;
    case ExprKind::reduce:
    case ExprKind::scan:
      return (e.combine == graph::Combine::sum || e.combine == graph::Combine::max || e.combine == graph::Combine::prod) &&
             e.operands[0]->is_nonnegative;
    default: return false;
  }
}

bool compute_numeric(const ExprData& e) {
  switch (e.kind) {
    case ExprKind::number:
    case ExprKind::constant: return true;
    case ExprKind::exp:
    case ExprKind::log: return e.operands[0]->is_numeric;
    case ExprKind::add: return std::all_of(e.terms.begin(), e.terms.end(), [](const Term& t) { return t.value->is_numeric; });
    case ExprKind::mul: return std::all_of(e.factors.begin(), e.factors.end(), [](const Factor& f) { return f.base->is_numeric; });
    default: return false;
  }
}

bool has_positions(const AxisSet& axes) {
  return std::all_of(axes.begin(), axes.end(), [](Axis a) { return a->extent.least() >= 1; });
}

// Whether an integer expression is at least 0 whenever position k equals position q.
bool is_nonnegative_at(Expr e, Axis k, Axis q) {
  Rational own = 0, least = 0;  // own: the coefficient of position k
  const auto take = [&](const Rational& c, Expr x) {
    if (x->is(ExprKind::index) && (x->axis == k || x->axis == q)) {
      own += c;
      return true;
    }
    const Range r = x->axes.contains(k) || x->axes.contains(q) ? Range::everything() : integer_range(x);
    const std::int64_t end = c.is_negative() ? r.greatest : r.least;
    if (end == INT64_MIN || end == INT64_MAX || !c.is_integer()) return false;
    least += c * Rational(end);
    return true;
  };
  if (e->is(ExprKind::add)) {
    for (const Term& t : e->terms)
      if (!take(t.coefficient, t.value)) return false;
  } else if (!take(1, e)) {
    return false;
  }
  return !own.is_negative() && !least.is_negative();
}

bool holds_at(Expr condition, Axis k, Axis q) {
  if (condition->is(ExprKind::at_least_zero)) return is_nonnegative_at(condition->operands[0], k, q);
  const auto is_of = [](Expr e, Axis a) { return e->is(ExprKind::index) && e->axis == a; };
  const auto& x = condition->operands;
  return condition->is(ExprKind::equal) && ((is_of(x[0], k) && is_of(x[1], q)) || (is_of(x[0], q) && is_of(x[1], k)));
}

// Whether conditions hold together at some position, whatever the other positions are: at the first one (a causal mask), or where it equals
// the position of another axis with the same extent (a window).
bool hold_somewhere(const std::vector<Expr>& conditions, const AxisSet& bound) {
  AxisRanges first;
  AxisSet others;
  for (Axis a : bound) first[a] = {0, 0};
  for (Expr c : conditions) others.insert(c->axes);
  if (std::all_of(conditions.begin(), conditions.end(), [&](Expr c) { return holds(c, first) == true; })) return true;
  if (bound.size() != 1) return false;
  const Axis k = *bound.begin();
  return std::any_of(others.begin(), others.end(), [&](Axis q) {
    return q != k && q->extent == k->extent && std::all_of(conditions.begin(), conditions.end(), [&](Expr c) { return holds_at(c, k, q); });
  });
}

// Whether this is a sum of positive terms, or of terms that are positive where masks hold, and these hold somewhere.
bool has_positive_term(Expr body, const AxisSet& bound) {
  if (!has_positions(bound)) return false;
  if (body->is_positive) return true;
  std::vector<Expr> conditions;
  const auto take = [&](Expr e) {
    const bool is_mask = e->is(ExprKind::indicator);
    if (is_mask && e->operands[0]->is(ExprKind::conjunction))
      conditions = e->operands[0]->operands;
    else if (is_mask)
      conditions = {e->operands[0]};
    return is_mask || e->is_positive;
  };
  const bool is_masked = body->is(ExprKind::mul) ? body->number > Rational(0) && std::all_of(body->factors.begin(), body->factors.end(),
                                                                                             [&](const Factor& f) { return take(f.base); })
                                                 : take(body);
  return is_masked && hold_somewhere(conditions, bound);
}

// Whether the value is known to be greater than 0 if the data are finite.
bool compute_positive(const ExprData& e) {
  const auto each_is = [](Expr x) { return x->is_positive; };
  switch (e.kind) {
    case ExprKind::number: return e.number > Rational(0);
    case ExprKind::constant: return std::bit_cast<double>(e.bits) > 0;
    case ExprKind::extent: return e.extent.least() >= 1;
    case ExprKind::exp: return e.operands[0]->finite != Finite::unknown;
    case ExprKind::add:
      return e.is_nonnegative &&
             std::any_of(e.terms.begin(), e.terms.end(), [](const Term& t) { return t.coefficient > Rational(0) && t.value->is_positive; });
    case ExprKind::mul:
      return e.number > Rational(0) && std::all_of(e.factors.begin(), e.factors.end(), [](const Factor& f) { return f.base->is_positive; });
    case ExprKind::function: return e.function == ir::OpKind::maximum_ && std::any_of(e.operands.begin(), e.operands.end(), each_is);
    case ExprKind::select: return e.operands[1]->is_positive && e.operands[2]->is_positive;
    case ExprKind::reduce:
      if (e.combine == graph::Combine::sum || e.combine == graph::Combine::max) return has_positive_term(e.operands[0], e.bound);
      return e.combine == graph::Combine::prod && e.operands[0]->is_positive;
    default: return false;
  }
}

// Whether the function gives a number for every number.
bool is_total(ir::OpKind f) {
  using ir::OpKind;
  switch (f) {
    case OpKind::neg_:
    case OpKind::abs_:
    case OpKind::tanh_:
    case OpKind::erf_:
    case OpKind::sin_:
    case OpKind::cos_:
    case OpKind::floor_:
    case OpKind::ceil_:
    case OpKind::rint_:
    case OpKind::trunc_:
    case OpKind::maximum_:
    case OpKind::minimum_:
    case OpKind::copysign_:
    case OpKind::cast_: return true;
    default: return false;
  }
}

// A maximum over masked elements counts as finite: the values from which it is subtracted have the same mask.
Finite finite_extreme(Expr body) {
  const bool is_masked = body->is(ExprKind::select) && body->operands[2]->is(ExprKind::infinity);
  return (is_masked ? body->operands[1] : body)->finite;
}

Finite compute_finite(const ExprData& e) {
  if (!ir::is_float(e.element)) return Finite::always;
  Finite all = Finite::always;
  const auto take = [&](Finite f) { all = std::min(all, f); };
  switch (e.kind) {
    case ExprKind::number:
    case ExprKind::extent:
    case ExprKind::random:
    case ExprKind::indicator:
    case ExprKind::reference:
    case ExprKind::shift_reference:
    case ExprKind::delta: return Finite::always;
    case ExprKind::constant: return std::isfinite(std::bit_cast<double>(e.bits)) ? Finite::always : Finite::unknown;
    case ExprKind::load: return e.tensor->finite;
    case ExprKind::add:
      for (const Term& t : e.terms) take(t.value->finite);
      return all;
    case ExprKind::mul:
      for (const Factor& f : e.factors) take(finiteness(f));
      return all;
    case ExprKind::exp: return e.operands[0]->finite;
    case ExprKind::log: return e.operands[0]->is_positive ? e.operands[0]->finite : Finite::unknown;
    case ExprKind::function:
      if (!is_total(e.function)) return Finite::unknown;
      for (Expr x : e.operands) take(x->finite);
      return all;
    case ExprKind::select: return std::min(e.operands[1]->finite, e.operands[2]->finite);
    case ExprKind::reduce:
    case ExprKind::scan:
      if (e.combine == graph::Combine::max || e.combine == graph::Combine::min) return finite_extreme(e.operands[0]);
      return e.combine == graph::Combine::combine ? Finite::unknown : e.operands[0]->finite;
    default: return Finite::unknown;
  }
}

AxisSet free_axes(const ExprData& e) {
  AxisSet axes;
  // The axis that a scan binds belongs to the scanned operand; the position is outside of it.
  if (e.kind == ExprKind::scan) {
    axes = e.operands[0]->axes.without(e.bound);
    axes.insert(e.operands[1]->axes);
    return axes;
  }
  if (e.axis) axes.insert(e.axis);
  for (const Term& t : e.terms) axes.insert(t.value->axes);
  for (const Factor& f : e.factors) axes.insert(f.base->axes);
  for (Expr x : e.operands) axes.insert(x->axes);
  return axes.without(e.bound);
}

void add_facts_of_parts(ExprData& e) {
  const auto add = [&](Expr part) {
    e.height = std::max(e.height, part->height + 1);
    e.kinds |= part->kinds;
  };
  static_assert(static_cast<unsigned>(ExprKind::delta) < 32);
  e.kinds = 1u << static_cast<unsigned>(e.kind);
  for (const Term& t : e.terms) add(t.value);
  for (const Factor& f : e.factors) add(f.base);
  for (Expr x : e.operands) add(x);
}

}  // namespace

// ---- axes ----

std::string label_again(const std::string& label) {
  if (label.find(' ') == label.npos) return label + "'";
  // axis 0 of x, axis 0 of x (again), axis 0 of x (again, 2), ...
  constexpr std::string_view kAgain = " (again";
  const std::size_t at = label.rfind(kAgain);
  if (at == label.npos || !label.ends_with(')')) return label + " (again)";
  const std::size_t number = at + kAgain.size() + 2;  // behind ", "
  const int times = number < label.size() ? std::stoi(label.substr(number)) : 1;
  return label.substr(0, at) + std::string(kAgain) + ", " + std::to_string(times + 1) + ")";
}

// ---- AxisSet ----

void AxisSet::insert(Axis a) {
  const auto at = std::lower_bound(axes_.begin(), axes_.end(), a, AxisLess());
  if (at == axes_.end() || *at != a) axes_.insert(at, a);
}
void AxisSet::insert(const AxisSet& other) {
  if (other.empty()) return;
  std::vector<Axis> both;
  both.reserve(axes_.size() + other.size());
  std::set_union(begin(), end(), other.begin(), other.end(), std::back_inserter(both), AxisLess());
  axes_ = std::move(both);
}
bool AxisSet::contains(Axis a) const { return std::binary_search(begin(), end(), a, AxisLess()); }
bool AxisSet::contains(const AxisSet& other) const { return std::includes(begin(), end(), other.begin(), other.end(), AxisLess()); }
bool AxisSet::intersects(const AxisSet& other) const {
  return std::any_of(other.begin(), other.end(), [&](Axis a) { return contains(a); });
}
AxisSet AxisSet::without(const AxisSet& other) const {
  AxisSet rest;
  std::set_difference(begin(), end(), other.begin(), other.end(), std::back_inserter(rest.axes_), AxisLess());
  return rest;
}
AxisSet AxisSet::common(const AxisSet& other) const {
  AxisSet both;
  std::set_intersection(begin(), end(), other.begin(), other.end(), std::back_inserter(both.axes_), AxisLess());
  return both;
}

// ---- ExprPool ----

Expr ExprPool::intern(ExprData e) {
  steps_.take(1);
  e.key = key_of(e);
  const auto at = by_key_.find(e.key);
  if (at != by_key_.end()) {
    TW_CHECK(same_contents(*at->second, e), "fusion: two expressions have one hash");
    return Expr(at->second);
  }
  e.axes = free_axes(e);
  e.is_nonnegative = compute_nonnegative(e);
  e.is_numeric = compute_numeric(e);
  add_facts_of_parts(e);
  e.finite = compute_finite(e);
  e.is_positive = compute_positive(e);
  exprs_.push_back(std::move(e));
  by_key_.emplace(exprs_.back().key, &exprs_.back());
  return Expr(&exprs_.back());
}

Axis ExprPool::axis(const std::string& name, const Dim& extent, const std::string& label) {
  if (const Axis known = find_axis(name)) return known;
  axes_.push_back({name, label.empty() ? name : label, extent, static_cast<std::uint32_t>(axes_.size())});
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
  const auto is_without_node = [&](Expr x) {
    return x->holds(ExprKind::reduce) && (x == e || sources_.count(x.operator->()) == 0) && seen.insert(x).second;
  };
  walk(e, is_without_node, [&](Expr x) {
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

// ---- integers ----

std::int64_t whole(const Rational& r) {
  TW_CHECK(r.is_integer(), "fusion: a fraction in an expression of integers");
  return static_cast<std::int64_t>(r.numerator());
}

std::int64_t whole_power(const Factor& f) {
  TW_CHECK(!f.exponent.is_negative(), "fusion: a quotient in an expression of integers");
  return whole(f.exponent);
}

// ---- how values are written ----

const WrittenValue* ExprPool::written_value(Expr e) const {
  const auto at = written_.find(e.operator->());
  return at == written_.end() || !at->second.left ? nullptr : &at->second;
}

void ExprPool::note_written_value(Expr value, const WrittenValue& written) {
  if (!written_.emplace(value.operator->(), written).second) return;
  // A part that has not been noted as a product or sum by now never is: otherwise two values could be parts of each other.
  for (Expr part : {written.left, written.right})
    if (part) written_.emplace(part.operator->(), WrittenValue());
}

// ---- walks ----

Finite finiteness(const Factor& f) {
  if (f.exponent.is_negative()) return f.base->is_positive ? f.base->finite : Finite::unknown;
  return f.exponent.is_integer() || f.base->is_nonnegative ? f.base->finite : Finite::unknown;
}

bool is_guard(Expr e) { return e->is(ExprKind::function) && e->function == ir::OpKind::div_ && e->operands[0] == e->operands[1]; }

bool contains(Expr outer, Expr inner) {
  return any_of(outer, [&](Expr e) { return e == inner; }, [&](Expr e) { return e->height > inner->height; });
}

graph::NodeId nearest_source(const ExprPool& pool, Expr e) {
  const Expr nearest = find_first(e, [&](Expr x) { return !pool.sources(x).empty(); });
  return nearest ? pool.sources(nearest).front() : graph::NodeId{};
}

}  // namespace tilewright::passes::fusion
