// Computes expressions, and the reductions as plans compute them, at one point.
#include "passes/fusion/check/plan_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "passes/fusion/bit_counts.h"
#include "passes/fusion/check/field.h"
#include "passes/fusion/check/graph_values.h"
#include "passes/fusion/expr/constant_value.h"
#include "passes/fusion/expr/products.h"
#include "tileir/op_info.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;
using ir::Element;
using ir::OpKind;

Number truth(bool holds) { return {holds ? 1.0L : 0.0L, 0}; }

// The value that a tensor of this type holds: integers wrap, and rounding of floats is ignored.
Number stored_as(Element e, const Number& x) { return ir::is_integer(e) && x.is_known() && x.is_finite() ? cast(x, Element::i64, e) : x; }

}  // namespace

PlanValues::PlanValues(const graph::Graph& g, const AxisAnalysis& axes, const ExprPool& pool, std::span<const LoopPlan* const> kernels,
                       const Sample& sample)
    : g_(g), axes_(axes), pool_(pool), plans_(kernels.begin(), kernels.end()), sample_(sample) {
  for (std::size_t k = 0; k < plans_.size(); ++k)
    for (const KernelOutput& o : plans_[k]->outputs) writers_[o.tensor].push_back({k, &o});
}

std::size_t PlanValues::KeyHash::operator()(const Key& k) const {
  std::uint64_t h = mix(k.expr ? k.expr->key.low : static_cast<std::uint64_t>(k.accumulator), k.kernel);
  for (std::int64_t p : k.position) h = mix(h, static_cast<std::uint64_t>(p));
  return h;
}

std::span<const std::int64_t> PlanValues::extents(Tensor t) {
  const auto [at, is_new] = extents_.try_emplace(t);
  if (is_new)
    for (const Dim& d : t->shape) at->second.push_back(sample_.value(d));
  return at->second;
}

const AxisPositions& PlanValues::positions(Axis a) {
  const auto [at, is_new] = positions_.try_emplace(a);
  if (is_new) at->second = sample_.positions(sample_.value(a->extent));
  return at->second;
}

// A value that is known immediately is not cached.
Number PlanValues::get(std::size_t kernel, Expr e, const Point& p) {
  switch (e->kind) {
    case ExprKind::number:
    case ExprKind::infinity:
    case ExprKind::constant:
    case ExprKind::index: return compute_expr(kernel, e, p);
    default: return values_.get(key(kernel, e, p));
  }
}

Number PlanValues::element(Tensor t, const Coordinates& position) {
  const std::optional<Key> k = stored(plans_.size(), t, position);
  return k ? stored_as(t->element, values_.value(*k)) : Number::unknown();
}

Number PlanValues::value(Expr e, const Point& p) { return values_.value(key(plans_.size(), e, p)); }

// The position along each of the axes.
Coordinates PlanValues::restricted(const AxisSet& axes, const Point& p) {
  Coordinates position;
  for (Axis a : axes) {
    const AxisIndex* at = p.end();
    while (at != p.begin() && (at - 1)->axis != a) --at;
    position.push_back(at == p.begin() ? 0 : (at - 1)->index);
  }
  return position;
}

Number PlanValues::compute(const Key& k) {
  const AxisSet& axes = k.expr ? k.expr->axes : plans_[k.kernel]->accumulators[static_cast<std::size_t>(k.accumulator)].axes;
  Point p;
  const std::int64_t* at = k.position.begin();
  for (Axis a : axes) p.push_back({a, *at++});
  return k.expr ? compute_expr(k.kernel, Expr(k.expr), p) : accumulator(k.kernel, k.accumulator, p);
}

// ---- tensors ----

// An index is a sum of axes, each multiplied by the extents of the axes inside of it.
std::int64_t PlanValues::integer(Expr e, const Point& p) const {
  switch (e->kind) {
    case ExprKind::number: return static_cast<std::int64_t>(e->number.numerator());
    case ExprKind::extent: return sample_.value(e->extent);
    case ExprKind::index: return position_of(restricted(e->axes, p)[0]);
    case ExprKind::add: {
      std::int64_t sum = 0;
      for (const Term& t : e->terms) sum += static_cast<std::int64_t>(t.coefficient.numerator()) * integer(t.value, p);
      return sum;
    }
    case ExprKind::mul: {
      auto all = static_cast<std::int64_t>(e->number.numerator());
      for (const Factor& f : e->factors)
        for (Rational i = 0; i < f.exponent; i += 1) all *= integer(f.base, p);
      return all;
    }
    default: return 0;
  }
}

std::optional<PlanValues::Point> PlanValues::point_of(const std::vector<Expr>& index, const Coordinates& position) const {
  Point p;
  for (std::size_t i = 0; i < index.size(); ++i) {
    struct Digit {
      std::int64_t step, extent;
      Axis axis;
    };
    InlineVector<Digit, 4> digits;
    const std::int64_t begin = integer(index[i], {});
    for (Axis a : index[i]->axes) {
      Point one;
      one.push_back({a, 1});
      digits.push_back({integer(index[i], one) - begin, sample_.value(a->extent), a});
    }
    std::sort(digits.begin(), digits.end(), [](const Digit& a, const Digit& b) { return a.step > b.step; });
    std::int64_t rest = position_of(position[i]) - begin;
    if (rest < 0) return std::nullopt;
    const bool is_index = digits.size() == 1 && digits[0].step == 1;
    for (const Digit& d : digits) {
      const std::int64_t at = d.step < 1 ? 0 : std::min(rest / d.step, d.extent - 1);
      p.push_back({d.axis, is_index ? coordinate_of(at, meant_by(position[i])) : at});
      rest -= at * d.step;
    }
    if (rest != 0) return std::nullopt;
  }
  return p;
}

// Several kernels may write pieces of a tensor; exactly one of them writes the element.
std::optional<PlanValues::Key> PlanValues::stored(std::size_t reader, Tensor t, const Coordinates& position) {
  std::optional<Key> found;
  bool is_early = false;
  const auto fail = [&](std::string what) {
    if (!mistake_) mistake_ = std::move(what);
  };
  const auto writers = writers_.find(t);
  for (const Writer& w : writers == writers_.end() ? std::span<const Writer>() : std::span<const Writer>(writers->second)) {
    const std::optional<Point> p = point_of(w.output->index, position);
    if (!p) continue;
    if (found) fail(fmt::format("an element of '{}' is written twice", t->name));
    is_early = is_early || w.kernel >= reader;
    found = key(w.kernel, w.output->value, *p);
  }
  if (is_early || writers == writers_.end()) {
    fail(fmt::format("'{}' is read before a kernel has written it", t->name));
    return std::nullopt;
  }
  if (!found) fail(fmt::format("an element of '{}' is read that no kernel writes", t->name));
  return found;
}

Number PlanValues::load(std::size_t kernel, Expr e, const Point& p) {
  Coordinates position;
  InlineVector<std::int64_t, 8> meant;
  for (Expr i : e->operands) {
    const Number at = get(kernel, i, p);
    if (values_.is_missing()) continue;
    if (at.error != 0 || !at.is_finite()) return Number::unknown();
    position.push_back(static_cast<std::int64_t>(at.value));
    meant.push_back(at.meant);
  }
  if (values_.is_missing()) return {};
  Tensor t = e->tensor;
  // A formula that does not need an element does not read it: so an element outside of the tensor is a mistake, unless the user's own index
  // is wrong.
  const std::span<const std::int64_t> shape = extents(t);
  for (std::size_t i = 0; i < position.size(); ++i) {
    const std::int64_t coordinate = sample_.coordinate(shape[i], position[i], meant[i]);
    position[i] = position_of(coordinate), meant[i] = meant_by(coordinate);
    if (position[i] < 0 || position[i] >= shape[i]) return {std::nanl(""), 0};
  }
  if (t->node.valid() && !writers_.contains(t)) {
    const graph::Op op = g_.node(t->node).op;
    if (op == graph::Op::input || op == graph::Op::scalar || op == graph::Op::constant || axes_.is_stored(t->node))
      return stored_element(g_, t->node, sample_, position);
  }
  for (std::size_t i = 0; i < position.size(); ++i) position[i] = coordinate_of(position[i], meant[i]);
  const std::optional<Key> k = stored(kernel, t, position);
  return k ? stored_as(t->element, values_.get(*k)) : Number::unknown();
}

// ---- expressions ----

Number PlanValues::compute_expr(std::size_t kernel, Expr e, const Point& p) {
  const auto operand = [&](std::size_t i) { return get(kernel, e->operands[i], p); };
  switch (e->kind) {
    case ExprKind::number: return number(e->number);
    case ExprKind::infinity: return {e->number.is_negative() ? -HUGE_VALL : HUGE_VALL, 0};
    case ExprKind::constant: return {std::bit_cast<double>(e->bits), 0};
    case ExprKind::extent: return exact_number(sample_.value(e->extent));
    case ExprKind::index: return index_number(restricted(e->axes, p)[0]);
    case ExprKind::random: return sample_.uniform(e->bits, operand(0));
    case ExprKind::load: return load(kernel, e, p);
    case ExprKind::add: {
      Number sum;
      for (const Term& t : e->terms) {
        const Number x = get(kernel, t.value, p);
        sum = add(sum, t.coefficient.is_one() ? x : multiply(number(t.coefficient), x, e->element), e->element);
      }
      return sum;
    }
    case ExprKind::mul: return product(kernel, e, p);
    case ExprKind::exp: return apply_float(OpKind::exp_, std::array{operand(0)});
    case ExprKind::log: return apply_float(OpKind::log_, std::array{operand(0)});
    case ExprKind::function: return function(kernel, e, p);
    case ExprKind::select: {
      const Number condition = operand(0);
      if (values_.is_missing()) return {};
      return condition.is_known() ? operand(condition.is_true() ? 1 : 2) : Number::unknown();
    }
    case ExprKind::at_least_zero: {
      const Number x = operand(0);
      return x.error == 0 ? truth(is_at_least_zero(x)) : Number::unknown();
    }
    case ExprKind::equal: {
      const Number a = operand(0), b = operand(1);
      return a.error == 0 && b.error == 0 ? truth(are_equal_indices(a, b)) : Number::unknown();
    }
    case ExprKind::conjunction: {
      Number all = truth(true);
      for (std::size_t i = 0; i < e->operands.size(); ++i) all = combined(Combine::all, Element::boolean, all, operand(i));
      return all;
    }
    case ExprKind::negation: {
      const Number x = operand(0);
      return x.is_known() ? truth(!x.is_true()) : x;
    }
    case ExprKind::indicator: return operand(0);
    case ExprKind::reduce: return reduction(kernel, e, p);
    case ExprKind::scan: return scan(kernel, e, p);
    // As in kernels, the reference is 0 before there is an element, and if all elements are masked.
    case ExprKind::reference: {
      const Number x = operand(0);
      return x.value < HUGE_VALL ? x : Number{};
    }
    case ExprKind::shift_reference: {
      const Number x = operand(0);
      return x.is_finite() ? x : Number{};
    }
    case ExprKind::delta: break;
  }
  return Number::unknown();
}

// Masks that are 0 hide factors; other factors multiply the 0.
Number PlanValues::product(std::size_t kernel, Expr e, const Point& p) {
  std::vector<Factor> hiding;
  for (const Factor& f : e->factors) {
    if (!is_mask(f)) continue;
    const Number c = get(kernel, f.base, p);
    if (values_.is_missing()) return {};
    if (!c.is_known()) return c;
    if (!c.is_true()) hiding.push_back(f);
  }
  Number product = hiding.empty() ? number(e->number) : Number{};
  for (const Factor& f : e->factors) {
    const auto is_hidden_by = [&](const Factor& mask) { return hides(mask, f); };
    if (is_mask(f) || std::ranges::any_of(hiding, is_hidden_by)) continue;
    product = multiply(product, power(get(kernel, f.base, p), f.exponent), e->element);
  }
  return product;
}

Number PlanValues::function(std::size_t kernel, Expr e, const Point& p) {
  InlineVector<Number, 3> operands;
  for (Expr o : e->operands) operands.push_back(get(kernel, o, p));
  const std::span<const Number> x(operands.begin(), operands.size());
  if (values_.is_missing()) return {};
  Expr typed = e->operands.back();
  for (Expr o : e->operands)
    if (!is_any_number(o)) typed = o;
  const bool has_type = e->bits != 0 && (e->element == Element::boolean || e->function == OpKind::cast_);
  const Element of = has_type ? operand_of_bits(e->bits) : is_any_number(typed) && ir::is_integer(e->element) ? e->element : typed->element;
  if (e->function == OpKind::bitcast_) return bitcast(x[0], bitcast_from(e->bits), bitcast_to(e->bits));
  if (e->function == OpKind::cast_)
    return cast(x[0], is_any_number(typed) && !has_type && !ir::is_integer(e->element) ? Element::f64 : of, e->element);
  if (ir::is_float(e->element)) return apply_float(e->function, x);
  if (e->element != Element::boolean) {
    return apply_integer(e->function, x, counts_bits(e->function) ? of : e->element, e->element);
  }
  return ir::is_float(of) ? apply_float(e->function, x) : apply_integer(e->function, x, of, e->element);
}

// ---- reductions ----

Number PlanValues::reduction(std::size_t kernel, Expr e, const Point& p) {
  const LoopPlan* plan = kernel < plans_.size() ? plans_[kernel] : nullptr;
  const Reduction* r = plan && plan->loop ? plan->find(e) : nullptr;
  if (!r || r->policy == Policy::unused) return stored_as(e->element, reduced(kernel, e->fold(), e->element, e->bound, e->operands[0], p));
  if (r->constant) return {*r->constant, 0};
  std::optional<Number> sum;
  for (const AccumulatorTerm& t : r->terms) {
    const Accumulator& a = plan->accumulators[static_cast<std::size_t>(t.accumulator)];
    Number x = values_.get({kernel, nullptr, t.accumulator, restricted(a.axes, p)});
    if (!t.factor->is_number(1)) x = multiply(get(kernel, t.factor, p), x, e->element);
    sum = sum ? add(*sum, x, e->element) : x;
  }
  return stored_as(e->element, sum.value_or(Number{}));
}

Number PlanValues::accumulator(std::size_t kernel, int i, const Point& p) {
  const Accumulator& a = plans_[kernel]->accumulators[static_cast<std::size_t>(i)];
  return reduced(kernel, a.fold(), a.body->element, {plans_[kernel]->loop}, a.body, p);
}

Number PlanValues::reduced(std::size_t kernel, const Fold& fold, Element element, const AxisSet& bound, Expr body, const Point& p) {
  std::optional<Number> result;
  Point at = p;
  InlineVector<const AxisPositions*, 4> visited;
  InlineVector<Axis, 4> axes;
  for (Axis a : bound) axes.push_back(a), visited.push_back(&positions(a));
  const bool divides = sample_.relates_indices() && divides_positions(fold.combine);
  const auto visit = [&](const auto& self, std::size_t next, std::int64_t weight) -> void {
    if (next < axes.size()) {
      Coordinates others;
      for (const AxisIndex& i : at) others.push_back(i.index);
      for (const SampledPosition& s : *visited[next])
        sample_.for_each_meant(s, others, divides, [&](std::int64_t coordinate, std::int64_t own) {
          at.push_back({axes[next], coordinate});
          self(self, next + 1, weight * own);
          at.pop_back();
        });
      return;
    }
    Number x = get(kernel, body, at);
    if (values_.is_missing()) return;
    if (fold == Combine::sum) x = multiply(x, exact_number(weight), element);
    if (!result)
      result = x;
    else if (fold == Combine::sum)
      result = add(*result, x, element);
    else if (fold == Combine::combine)
      result = combined(*pool_.function(fold.function).graph, pool_.function(fold.function).result, *result, x);
    else
      result = combined(fold.combine, element, *result, x);
  };
  visit(visit, 0, 1);
  return result.value_or(Number{});
}

Number PlanValues::scan(std::size_t kernel, Expr e, const Point& p) {
  const Number here = get(kernel, e->operands[1], p);
  if (values_.is_missing()) return {};
  if (here.error != 0) return Number::unknown();
  const Axis axis = *e->bound.begin();
  AxisPositions all = positions(axis);
  const bool is_reverse = e->bits != 0;
  if (is_reverse) std::reverse(all.begin(), all.end());
  std::optional<Number> result;
  Point at = p;
  for (const SampledPosition& s : all) {
    const auto there = static_cast<long double>(s.position);
    if (is_reverse ? there < here.value : there > here.value) continue;
    at.push_back({axis, s.position});
    const Number x = get(kernel, e->operands[0], at);
    at.pop_back();
    if (values_.is_missing()) continue;
    result = result ? combined(e->combine, e->element, *result, x) : x;
  }
  return values_.is_missing() ? Number{} : result.value_or(Number::unknown());
}

}  // namespace tilewright::passes::fusion
