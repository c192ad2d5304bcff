// Emits loops, what comes before and after them, and scans.
#include "passes/fusion/emit/pass_emitter.h"

#include <algorithm>
#include <optional>

#include "passes/fusion/expr/expr_walk.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

using graph::Combine;
using ir::Element;
using ir::OpKind;

void PassEmitter::store(const KernelOutput& o) {
  Order order;
  for (Expr i : o.index)
    for (Axis a : i->axes)
      if (std::find(order.begin(), order.end(), a) == order.end()) order.push_back(a);
  tiles_.memory().store(o.tensor, o.index, o.value, order);
}

void PassEmitter::emit_pass(int pass) {
  const PassState& state = plan_.states[static_cast<std::size_t>(pass - 1)];
  std::vector<const KernelOutput*> along;
  if (pass == plan_.passes)
    for (const KernelOutput& o : plan_.outputs)
      if (o.has(plan_.loop)) along.push_back(&o);
  if (state.accumulators.empty() && along.empty()) return;
  estimate_shifts(pass);
  const bool is_one_tile = plan_.loop->extent.is_constant() && plan_.loop->extent.value() <= sizes_.loop;
  std::map<int, Part> accumulated;
  bool has_references = true;
  if (is_one_tile) {
    scopes_.innermost().tiles[plan_.loop] = {sizes_.loop, {}, is_whole_tile(plan_.loop->extent, sizes_.loop)};
    const bool is_stored_along = std::any_of(plan_.outputs.begin(), plan_.outputs.end(), [&](const auto& o) { return o.has(plan_.loop); });
    has_references = !is_stored_along;
    accumulated = (is_stored_along ? states_.update_whole(state) : states_.update(state, nullptr, nullptr)).accumulators;
    if (!along.empty()) run_scans({});
    for (const KernelOutput* o : along) store(*o);
  } else {
    accumulated = emit_loop(state, ranges_.whole(state, !along.empty()), along, nullptr);
  }
  complete(pass, accumulated, has_references);
}

// ---- loops ----

// Updates the state with tiles of the axis or, with `split`, with the states of parts. Returns the accumulators.
std::map<int, Part> PassEmitter::emit_loop(const PassState& pass, const LoopRange& range, const std::vector<const KernelOutput*>& along,
                                           const SplitLoop* split) {
  const std::vector<int>& live = pass.accumulators;
  const std::vector<Expr>& shifts = pass.rolling_shifts;
  const Element index = build_.element(range.begin);
  std::vector<ir::ValueId> operands{range.begin.value, range.end.value, build_.integer(index, range.step).value};
  std::vector<Order> orders;
  for (int i : live) {
    const Accumulator& a = plan_.accumulators[static_cast<std::size_t>(i)];
    orders.push_back(states_.order_of(a.axes));
    operands.push_back(folds_.neutral(a.fold(), a.element(), orders.back()).value);
  }
  for (Expr s : shifts) {
    orders.push_back(states_.order_of(s->axes));
    operands.push_back(folds_.neutral(Combine::sum, s->element, orders.back()).value);
  }
  const std::size_t scans = along.empty() ? 0 : plan_.scans.size();
  for (std::size_t i = 0; i < scans; ++i) {
    const RunningScan& s = plan_.scans[i];
    orders.push_back(states_.order_of(s.body->axes));
    operands.push_back(folds_.neutral(s.value->fold(), s.value->element, orders.back()).value);
  }
  const ir::OpId loop = ir_.create(OpKind::for_, operands);
  const ir::BlockId body = ir_.function().region(loop);
  EmitScope scope;
  scope.block = body;
  const ir::ValueId counter = ir_.function().add_arg(body, ir::Type(index));
  scope.tiles[range.axis] = {range.step, counter, range.is_whole};
  if (plan_.is_reverse) scope.tiles[range.axis].start = from_the_end(loop, counter, index);
  TileState old;
  std::vector<Part> running;
  std::map<int, Part> results;
  PartsByExpr last_shifts;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const ir::Type type = ir_.function().type(operands[3 + i]);
    const Part argument{ir_.function().add_arg(body, type), orders[i]};
    const ir::ValueId result = ir_.function().result(loop, static_cast<int>(i));
    if (i < live.size()) {
      old.accumulators[live[i]] = argument;
      results[live[i]] = {result, orders[i]};
    } else if (i >= live.size() + shifts.size()) {
      running.push_back(argument);
    } else {
      old.shifts[shifts[i - live.size()]] = argument;
      last_shifts[shifts[i - live.size()]] = {result, orders[i]};
    }
  }
  scopes_.innermost().before = loop;
  scopes_.push(std::move(scope));
  TileState parts;
  if (split) parts = loaded_states(*split);
  const TileState now = states_.update(pass, &old, split ? &parts : nullptr, share_of_visited(pass, range, counter));
  if (scans != 0) running = run_scans(running);
  for (const KernelOutput* o : along) store(*o);
  std::vector<ir::ValueId> yields;
  for (std::size_t i = 0; i < live.size(); ++i) yields.push_back(build_.broadcast(now.accumulators.at(live[i]), orders[i]));
  for (std::size_t i = 0; i < shifts.size(); ++i) yields.push_back(build_.broadcast(now.shifts.at(shifts[i]), orders[live.size() + i]));
  for (std::size_t i = 0; i < scans; ++i) yields.push_back(build_.broadcast(running[i], orders[live.size() + shifts.size() + i]));
  ir_.create(OpKind::yield_, yields);
  scopes_.pop();
  scopes_.innermost().before = {};
  scopes_.move_builder();
  for (const auto& [shift, part] : last_shifts) scopes_.know(shift, part);
  return results;
}

// The number of positions over the number of those that the loop has visited with the tile that begins at `counter`; none if no reference
// needs it.
std::optional<Part> PassEmitter::share_of_visited(const PassState& pass, const LoopRange& range, ir::ValueId counter) {
  if (std::none_of(pass.steps.begin(), pass.steps.end(), [](const UpdateStep& s) { return s.is_extrapolated; })) return std::nullopt;
  const Part length = build_.binary(OpKind::sub_, range.end, range.begin, {});
  const Part end = build_.binary(OpKind::add_, {counter, {}}, build_.integer(build_.element(range.begin), range.step), {});
  const Part visited = build_.binary(OpKind::minimum_, build_.binary(OpKind::sub_, end, range.begin, {}), length, {});
  const Part all = range.is_part ? context_.extent(plan_.loop->extent, Element::f32) : build_.cast(length, Element::f32);
  return build_.binary(OpKind::div_, all, build_.cast(visited, Element::f32), {});
}

// ---- scans ----

// The start of the tile in an iteration, in the body of a loop that visits the last tile first.
ir::ValueId PassEmitter::from_the_end(ir::OpId loop, ir::ValueId counter, Element e) {
  scopes_.innermost().before = loop;
  scopes_.move_builder();
  const Part size = build_.integer(e, sizes_.loop);
  const Part end = build_.binary(OpKind::sub_, context_.extent(plan_.loop->extent, e), build_.integer(e, 1), {});
  const Part last = build_.binary(OpKind::mul_, build_.binary(OpKind::div_, end, size, {}), size, {});
  ir_.at_end(ir_.function().region(loop));
  const ir::ValueId start = build_.binary(OpKind::sub_, last, {counter, {}}, {}).value;
  scopes_.innermost().before = {};
  return start;
}

// Computes the values of scans in this tile; returns what the next tile continues from. `before` is empty for the first tile.
std::vector<Part> PassEmitter::run_scans(const std::vector<Part>& before) {
  std::vector<Part> next;
  for (std::size_t i = 0; i < plan_.scans.size(); ++i) {
    const RunningScan& s = plan_.scans[i];
    const auto [values, after] = tiles_.reductions().running(s.value->fold(), plan_.is_reverse, plan_.loop, s.body, s.value->element,
                                                             order_with_loop_, before.empty() ? std::nullopt : std::optional(before[i]));
    scopes_.know(s.value, values);
    next.push_back(after);
  }
  return next;
}

// ---- the two kernels of a divided loop ----

void PassEmitter::emit_part(const SplitLoop& split) {
  const PassState& pass = plan_.states[0];
  estimate_shifts(1);
  const std::map<int, Part> accumulated = emit_loop(pass, ranges_.part(pass, split), {}, nullptr);
  for (const auto& [i, element] : split.accumulators) scopes_.know(element, accumulated.at(i));
  for (const auto* shifts : {&split.rolling_shifts, &split.fixed_shifts})
    for (const auto& [shift, element] : *shifts) scopes_.know(element, tiles_.value(shift, order_));
  for (Expr e : split.elements()) tiles_.memory().store(e->tensor, e->operands, e, order_);
}

void PassEmitter::emit_merge(const SplitLoop& split, std::int64_t at_once) {
  const PassState& pass = plan_.states[0];
  for (const auto& [shift, element] : split.fixed_shifts) scopes_.know(shift, tiles_.value(element, order_));
  if (at_once == split.parts()) {
    scopes_.innermost().tiles[split.part] = {at_once, {}, true};
    TileState parts = loaded_states(split);
    complete(1, states_.update(pass, nullptr, &parts).accumulators);
  } else {
    const Part begin = build_.integer(Element::i32, 0), end = build_.integer(Element::i32, split.parts());
    complete(1, emit_loop(pass, {split.part, at_once, begin, end, true}, {}, &split));
  }
}

// Loads the states of the parts in the current tile of parts.
TileState PassEmitter::loaded_states(const SplitLoop& split) {
  TileState all;
  all.part = split.part;
  const auto load = [&](Expr element, const AxisSet& axes) {
    const Order order = states_.order_of(axes, split.part);
    return Part{build_.broadcast(tiles_.value(element, order), order), order};
  };
  for (const auto& [i, element] : split.accumulators)
    all.accumulators[i] = load(element, plan_.accumulators[static_cast<std::size_t>(i)].axes);
  for (const auto& [shift, element] : split.rolling_shifts) all.shifts[shift] = load(element, shift->axes);
  return all;
}

// ---- before and behind the loop ----

// Sets shifts that do not roll: they take the value that the reductions would have if all tiles were like the first one.
void PassEmitter::estimate_shifts(int pass) {
  const std::vector<Expr>& fixed = plan_.states[static_cast<std::size_t>(pass - 1)].fixed_shifts;
  if (fixed.empty()) return;
  EmitScope scope;
  scope.block = scopes_.innermost().block;
  scope.tiles[plan_.loop] = {sizes_.loop, {}, is_whole_tile(plan_.loop->extent, sizes_.loop)};
  scopes_.push(std::move(scope));
  const Part extent = context_.extent(plan_.loop->extent, Element::f32);
  const Part seen = build_.binary(OpKind::minimum_, extent, build_.constant(Element::f32, static_cast<double>(sizes_.loop)), {});
  const Part share = build_.binary(OpKind::div_, extent, seen, {});
  TileState estimates;
  PartsByExpr found;
  for (const Reduction& r : plan_.reductions) {
    if (r.pass != pass || std::none_of(fixed.begin(), fixed.end(), [&](Expr s) { return contains(s->operands[0], r.value); })) continue;
    for (const AccumulatorTerm& t : r.terms) {
      const Accumulator& a = plan_.accumulators[static_cast<std::size_t>(t.accumulator)];
      estimates.accumulators[t.accumulator] =
          tiles_.reductions().combine(a.fold(), a.reduce, {plan_.loop}, a.body, states_.order_of(a.axes), std::nullopt);
    }
    const Part value = states_.terms_value(r, estimates);
    estimates.values[r.value] = build_.binary(OpKind::mul_, build_.cast(share, build_.element(value)), value, order_);
    for (Expr s : fixed) {
      const bool is_ready = std::all_of(plan_.reductions.begin(), plan_.reductions.end(), [&](const Reduction& other) {
        return other.pass != pass || !contains(s->operands[0], other.value) || estimates.values.count(other.value) != 0;
      });
      if (found.count(s) != 0 || !is_ready) continue;
      found[s] = states_.finite(states_.with(estimates, s->operands[0], order_, s->element));
      scopes_.know(s, found[s]);
    }
  }
  scopes_.pop();
  for (const auto& [shift, part] : found) scopes_.know(shift, part);
}

// A sum over no elements is 0, whatever was deferred.
Part PassEmitter::of_some(const Reduction& r, const Part& value) {
  const Expr has_positions = exprs_.is_positive(plan_.loop->extent);
  const bool is_deferred =
      std::any_of(r.terms.begin(), r.terms.end(), [](const AccumulatorTerm& t) { return !t.factor->is(ExprKind::number); });
  if (has_positions == exprs_.truth(true) || r.value->combine != Combine::sum || !is_deferred) return value;
  return build_.select(tiles_.value(has_positions, {}), value, folds_.neutral(Combine::sum, build_.element(value), {}), value.axes);
}

// A sum of squares is 0 or more, and its root is a number, though rounding may make the sum of its terms negative.
Part PassEmitter::not_below_zero(const Reduction& r, const Part& value) {
  if (r.terms.size() < 2 || !r.value->is_nonnegative || !ir::is_float(build_.element(value))) return value;
  const Part zero = build_.constant(build_.element(value), 0);
  return build_.select(build_.binary(OpKind::lt_, value, zero, value.axes), zero, value, value.axes);
}

// has_references: the accumulators refer to values so far.
void PassEmitter::complete(int pass, const std::map<int, Part>& accumulators, bool has_references) {
  TileState rounded, last;
  rounded.accumulators = last.accumulators = accumulators;
  for (const Reduction& r : plan_.reductions) {
    if (r.pass != pass || r.policy == Policy::unused) continue;
    if (has_references && !r.constant)
      for (const AccumulatorTerm& t : r.terms) last.accumulators[t.accumulator] = states_.settled(t.accumulator, rounded, last);
    // If accumulators refer to a constant reference, the value after the loop does too.
    const auto value = [&](const TileState& s) {
      return r.constant ? build_.constant(r.value->element, *r.constant) : not_below_zero(r, of_some(r, states_.terms_value(r, s)));
    };
    last.values[r.value] = value(last);
    if (has_references && states_.is_referred_to(r.value)) rounded.values[r.value] = value(rounded);
    scopes_.know(r.value, last.values[r.value]);
  }
}

}  // namespace tilewright::passes::fusion
