// Emits the steps of pass_state.h on tiles.
#include "passes/fusion/emit/state_emitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "passes/fusion/expr/expr_walk.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

using graph::Combine;
using ir::Element;
using ir::OpKind;

Order StateEmitter::order_of(const AxisSet& axes, Axis part) const {
  Order order = build_.restricted(order_, axes);
  if (part && scopes_.is_tiled(part)) order.push_back(part);
  return order;
}

Part StateEmitter::finite(const Part& x) {
  const Element e = build_.element(x);
  const Part is_finite = build_.binary(OpKind::lt_, build_.unary(OpKind::abs_, x), build_.constant(e, HUGE_VAL), x.axes);
  return build_.select(is_finite, x, build_.constant(e, 0), x.axes);
}

// Before the first element, or if all elements are neutral, an exponent is +inf; it is replaced by 0, so that exp(element + exponent) is a
// number. An exponent of -inf stays: its maximum is +inf, and the formula gives 0 for other elements and NaN for the maximum.
Part StateEmitter::finite_reference(const Part& exponent) {
  const Element e = build_.element(exponent);
  const Part is_below = build_.binary(OpKind::lt_, exponent, build_.constant(e, HUGE_VAL), exponent.axes);
  return build_.select(is_below, exponent, build_.constant(e, 0), exponent.axes);
}

// ---- values of expressions in a state ----

// A name for a value that differs between states.
Expr StateEmitter::alias(Expr e, Axis part) {
  if (const auto known = aliases_.find(e); known != aliases_.end()) return known->second;
  TensorInfo info;
  info.name = fmt::format("{} {:x} {:x}", part->name, e->key.high, e->key.low);
  info.element = e->element;
  std::vector<Expr> index{exprs_.index(part)};
  for (Axis a : e->axes) index.push_back(exprs_.index(a));
  info.shape.assign(index.size(), 1);
  info.strides.assign(index.size(), 1);
  const Tensor known = exprs_.pool().find_tensor(info.name);
  return aliases_[e] = exprs_.load(known ? known : exprs_.pool().add_tensor(std::move(info)), std::move(index));
}

Part StateEmitter::with(PartsByExpr known, Axis part, Expr e, const Order& order, Element element) {
  EmitScope scope;
  scope.block = scopes_.innermost().block;
  scope.before = scopes_.innermost().before;
  if (part) {
    ExprMap names;
    for (const auto& [key, value] : known) {
      names[key] = alias(key, part);
      scope.known[names[key]] = value;
    }
    e = exprs_.substitute(e, names);
  } else {
    scope.known = std::move(known);
  }
  scopes_.push(std::move(scope));
  const Part result = tiles_.value_as(e, order, element);
  scopes_.pop();
  return result;
}

Part StateEmitter::with(const TileState& s, Expr e, const Order& order, Element element) {
  PartsByExpr known = s.values;
  known.insert(s.shifts.begin(), s.shifts.end());
  return with(std::move(known), s.part, e, order, element);
}

Part StateEmitter::terms_value(const Reduction& r, const TileState& s) {
  const Order order = order_of(r.value->axes, s.part);
  std::optional<Part> sum;
  for (const AccumulatorTerm& t : r.terms) {
    Part x = s.accumulators.at(t.accumulator);
    if (!t.factor->is_number(1)) x = build_.binary(OpKind::mul_, with(s, t.factor, order, r.value->element), x, order);
    sum = sum ? build_.binary(OpKind::add_, *sum, x, order) : x;
  }
  return *sum;
}

// ---- from one reference to another ----

Part StateEmitter::settled(int accumulator, const TileState& rounded, const TileState& last) {
  const Accumulator& a = plan_.accumulators[static_cast<std::size_t>(accumulator)];
  const Part& x = rounded.accumulators.at(accumulator);
  if (!tiles_.rounds_references(a.exponent->element) || build_.element(x) != Element::f32 || !refers(a)) return x;
  const auto reference = [&](const TileState& s) { return finite_reference(with(s, a.exponent, order_, computed(a.exponent->element))); };
  const Part from = reference(rounded), to = reference(last);
  const Part factor = tiles_.exp_of_rounding(to, from, from.axes);
  return build_.binary(OpKind::mul_, x, factor, order_of(a.axes));
}

bool StateEmitter::refers(const Accumulator& a) const {
  const Expr reference = exprs_.reference(a.exponent);
  return reference->is(ExprKind::reference) && contains(a.body, reference);
}

bool StateEmitter::is_referred_to(Expr reduction) const {
  return std::any_of(plan_.accumulators.begin(), plan_.accumulators.end(),
                     [&](const Accumulator& a) { return contains(a.exponent, reduction); });
}

bool StateEmitter::has_sum(Expr exponent, const TileState& s) const {
  for (const Reduction& r : plan_.reductions)
    if (r.value->combine == Combine::sum && s.values.count(r.value) != 0 && contains(exponent, r.value)) return true;
  return false;
}

// exp(exponent new - exponent old). Before the first element a maximum is -inf, so its exponent is +inf and the factor is 0.
Part StateEmitter::scale(Expr exponent, const TileState& from, const TileState& to) {
  const Expr reference = exprs_.reference(exponent);
  const bool is_known = scopes_.innermost().known.count(reference) != 0;
  const Part now = is_known ? tiles_.value(reference, order_) : finite_reference(with(to, exponent, order_, computed(exponent->element)));
  Order order = order_;
  if (from.part) order.push_back(from.part);
  const Part raw = with(from, exponent, order, computed(exponent->element));
  const Part old = has_sum(exponent, from) ? finite_reference(raw) : raw;
  return tiles_.exp_of_change(now, old, order);
}

// The accumulator after its shift references have moved.
Part StateEmitter::shifted(const Accumulator& a, const TileState& from, const TileState& to, const Order& order) {
  PartsByExpr known;
  for (const auto& [shift, value] : to.shifts)
    known[exprs_.delta(shift->operands[0])] = build_.binary(OpKind::sub_, value, from.shifts.at(shift), order_of(shift->axes, from.part));
  // Shifts inside of the factors have their values before the move.
  known.insert(from.shifts.begin(), from.shifts.end());
  std::optional<Part> sum;
  for (const AccumulatorTerm& t : a.move) {
    Part x = from.accumulators.at(t.accumulator);
    if (!t.factor->is_number(1)) x = build_.binary(OpKind::mul_, with(known, from.part, t.factor, order, a.element()), x, order);
    sum = sum ? build_.binary(OpKind::add_, *sum, x, order) : x;
  }
  return *sum;
}

// An accumulator of `from`, moved to the references of `to`.
Part StateEmitter::moved(const UpdateStep& step, const TileState& from, const TileState& to) {
  const Accumulator& a = plan_.accumulators[static_cast<std::size_t>(step.index)];
  const Order order = order_of(a.axes, from.part);
  Part x = step.moves_by_shifts ? shifted(a, from, to, order) : from.accumulators.at(step.index);
  if (!step.moves_by_exponent) return x;
  const std::pair key(a.exponent.operator->(), &from);
  if (scales_.count(key) == 0) scales_.emplace(key, scale(a.exponent, from, to));
  const Part product = build_.binary(OpKind::mul_, scales_.at(key), x, order);
  if (!has_sum(a.exponent, from)) return product;
  // The reference of an empty state is 0; the change from it may be too large for exp.
  const Part zero = build_.constant(build_.element(x), 0);
  return build_.select(build_.binary(OpKind::eq_, x, zero, order), zero, product, order);
}

Part StateEmitter::accumulated(const UpdateStep& step, const TileState* old, const TileState* incoming, const TileState& now) {
  const Accumulator& a = plan_.accumulators[static_cast<std::size_t>(step.index)];
  const LineOf line(context_, a.reduce);
  const Order order = order_of(a.axes);
  std::optional<Part> start;
  if (old) start = moved(step, *old, now);
  Part next;
  if (incoming) {
    const Order all = order_of(a.axes, incoming->part);
    const Part each{build_.broadcast(moved(step, *incoming, now), all), all};
    next = folds_.reduce(a.fold(), each, static_cast<int>(all.size() - order.size()));
    if (start) next = folds_.combine(a.fold(), *start, next, order);
  } else {
    const Expr body = is_whole_ ? body_of_whole(a, now) : body_in_loop(a, now);
    next = tiles_.reductions().combine(a.fold(), a.reduce, {plan_.loop}, body, order, start);
  }
  next = {build_.broadcast(next, order), order};
  return build_.element(next) == a.element() ? next : build_.cast(next, a.element());
}

// References inside of the body have the values so far.
Expr StateEmitter::body_in_loop(const Accumulator& a, const TileState& now) {
  for (Expr r : collect(a.body, ExprKind::reference))
    if (scopes_.innermost().known.count(r) == 0) scopes_.know(r, finite_reference(with(now, r->operands[0], order_, r->element)));
  return a.body;
}

// The body without references, as in the outputs.
Expr StateEmitter::body_of_whole(const Accumulator& a, const TileState& now) {
  for (const auto& [reduction, value] : now.values) scopes_.know(reduction, value);
  return body_at_values(exprs_, a);
}

TileState StateEmitter::update_whole(const PassState& pass) {
  is_whole_ = true;
  TileState state = update(pass, nullptr, nullptr);
  is_whole_ = false;
  return state;
}

// The state, with the sums that it would have if all positions were like those so far.
TileState StateEmitter::extrapolated(const TileState& state, const Part& share) {
  TileState all = state;
  for (auto& [reduction, value] : all.values)
    if (reduction->combine == Combine::sum)
      value = build_.binary(OpKind::mul_, build_.cast(share, build_.element(value)), value, order_of(reduction->axes));
  return all;
}

TileState StateEmitter::update(const PassState& pass, TileState* old, TileState* incoming, const std::optional<Part>& share) {
  TileState now;
  scales_.clear();
  for (const Reduction& r : plan_.reductions)
    if (r.constant)
      for (TileState* s : {&now, old, incoming})
        if (s) s->values[r.value] = build_.constant(r.value->element, *r.constant);
  for (const UpdateStep& step : pass.steps) {
    switch (step.kind) {  // a new kind: docs/extending.md, Adding a form of fusion, step 3
      case UpdateStep::Kind::accumulate: now.accumulators[step.index] = accumulated(step, old, incoming, now); break;
      case UpdateStep::Kind::refer: {
        const Reduction& r = plan_.reductions[static_cast<std::size_t>(step.index)];
        for (TileState* s : {&now, old, incoming})
          if (s) s->values[r.value] = terms_value(r, *s);
        break;
      }
      case UpdateStep::Kind::shift:
        now.shifts[step.shift] = finite(
            with(step.is_extrapolated && share ? extrapolated(now, *share) : now, step.shift->operands[0], order_, step.shift->element));
        scopes_.know(step.shift, now.shifts[step.shift]);
        break;
    }
  }
  return now;
}

}  // namespace tilewright::passes::fusion
