// Emits programs, loops, accumulators and stores.
#include "passes/fusion/emit/kernel_emitter.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <span>

#include "passes/fusion/emit/program_grid.h"
#include "passes/fusion/emit/tile_values.h"
#include "passes/fusion/integer_range.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;
using ir::Element;
using ir::OpKind;

using PartsByExpr = std::unordered_map<Expr, Part, ExprHash>;

void collect(Expr e, ExprKind kind, ExprSet& seen, std::vector<Expr>& found) {
  if (!seen.insert(e).second) return;
  if (e->is(kind)) found.push_back(e);
  for (Expr x : children(e)) collect(x, kind, seen, found);
}
std::vector<Expr> all_of_kind(Expr e, ExprKind kind) {
  ExprSet seen;
  std::vector<Expr> found;
  collect(e, kind, seen, found);
  return found;
}

class KernelEmitter {
 public:
  KernelEmitter(const std::string& name, ExprBuilder& exprs, const Plan& plan, const TileSizes& sizes)
      : function_(name), ir_(function_), tiles_(exprs, ir_), exprs_(exprs), plan_(plan), sizes_(sizes) {}

  EmittedKernel run() {
    for (const KernelOutput& o : plan_.outputs) tiles_.set_written(o.tensor);
    tiles_.set_exp2(sizes_.has_exp2);
    open_program();
    choose_order();
    for (int pass = 1; pass <= plan_.passes && plan_.loop; ++pass) emit_pass(pass);
    for (const KernelOutput& o : plan_.outputs)
      if (!plan_.loop || !o.has(plan_.loop)) store(o);
    EmittedKernel result;
    for (const KernelOutput& o : plan_.outputs) result.writes.push_back(o.tensor);
    for (const TileValues::Parameter& p : tiles_.parameters()) result.parameters.push_back({p.tensor, p.extent});
    for (int i = 0; i < 3; ++i) result.grid[i] = grid_[i];
    result.function = std::move(function_);
    return result;
  }

 private:
  // ---- the program's positions ----

  void open_program() {
    EmitScope scope;
    scope.block = function_.body();
    tiles_.push(std::move(scope));
    for (const auto& [axis, inner] : sizes_.inner) tiles_.set_inner_tile(axis, inner.size, inner.is_looped);
    for (const auto& [axis, size] : sizes_.payload) tiles_.scope().tiles[axis] = {size, {}, axis->extent.known_divisor() % size == 0};
    share_out(tiles_, sizes_.grid, grid_);
  }

  // The order of the axes of accumulators: as in the outputs, the contiguous axis last.
  void choose_order() {
    std::vector<std::pair<std::size_t, Axis>> places;
    std::set<Axis> seen;
    for (const KernelOutput& o : plan_.outputs)
      for (std::size_t i = 0; i < o.index.size(); ++i)
        for (Axis a : o.index[i]->axes)
          if (seen.insert(a).second) places.emplace_back(i, a);
    std::stable_sort(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [place, axis] : places) order_with_loop_.push_back(axis);
    for (Axis a : order_with_loop_)
      if (a != plan_.loop) order_.push_back(a);
    for (const auto& [axis, size] : sizes_.payload)
      if (seen.insert(axis).second) order_.push_back(axis);
    for (const auto& [axis, size] : sizes_.grid)
      if (seen.insert(axis).second) order_.push_back(axis);
  }

  void store(const KernelOutput& o) {
    Order order;
    for (Expr i : o.index)
      for (Axis a : i->axes)
        if (std::find(order.begin(), order.end(), a) == order.end()) order.push_back(a);
    tiles_.store(o.tensor, o.index, o.value, order);
  }

  // ---- passes ----

  // Accumulators of a pass that a live reduction needs, and those that they move to.
  std::vector<int> live_accumulators(int pass) const {
    std::set<int> live;
    std::vector<int> todo;
    for (std::size_t i = 0; i < plan_.accumulators.size(); ++i)
      if (plan_.accumulators[i].pass == pass && plan_.is_read(static_cast<int>(i))) todo.push_back(static_cast<int>(i));
    while (!todo.empty()) {
      const int i = todo.back();
      todo.pop_back();
      if (!live.insert(i).second) continue;
      if (has_rolling_shift(plan_.accumulators[i]))
        for (const AccumulatorTerm& t : plan_.accumulators[i].move) todo.push_back(t.accumulator);
    }
    return {live.begin(), live.end()};
  }

  // A shift that depends on a maximum moves with it; others keep the estimate of the first tile.
  bool is_rolling(Expr shift) const {
    for (const Reduction& r : plan_.reductions)
      if (r.value->combine != Combine::sum && contains(shift->operands[0], r.value)) return true;
    return false;
  }
  bool has_rolling_shift(const Accumulator& a) const {
    for (Expr s : all_of_kind(a.body, ExprKind::shift_reference))
      if (is_rolling(s)) return true;
    return false;
  }

  Order order_of(const Accumulator& a) const { return tiles_.restricted(order_, a.axes); }

  Element element_of(const Accumulator& a) const {
    if (ir::is_integer(a.body->element) && a.reduce->operand_element == Element::i8) return Element::i32;
    if (a.body->is(ExprKind::number)) return Element::f32;
    // A body of extents alone, in a sum of floats.
    return ir::is_integer(a.body->element) && ir::is_float(a.reduce->element) ? a.reduce->element : a.body->element;
  }

  void emit_pass(int pass) {
    const std::vector<int> live = live_accumulators(pass);
    std::vector<const KernelOutput*> along;
    if (pass == plan_.passes)
      for (const KernelOutput& o : plan_.outputs)
        if (o.has(plan_.loop)) along.push_back(&o);
    if (live.empty() && along.empty()) return;
    estimate_shifts(pass);
    const bool is_one_tile = plan_.loop->extent.is_constant() && plan_.loop->extent.value() <= sizes_.loop;
    std::map<int, Part> accumulated;
    if (is_one_tile) {
      tiles_.scope().tiles[plan_.loop] = {sizes_.loop, {}, plan_.loop->extent.known_divisor() % sizes_.loop == 0};
      accumulated = absorb_tile(pass, live, {}, rolling_shifts(live)).accumulators;
      if (!along.empty()) run_scans({});
      for (const KernelOutput* o : along) store(*o);
    } else {
      accumulated = emit_loop(pass, live, along);
    }
    complete(pass, accumulated);
  }

  struct State {
    std::map<int, Part> accumulators;
    PartsByExpr shifts;  // the shift references that roll
  };

  std::vector<Expr> rolling_shifts(const std::vector<int>& live) const {
    std::vector<Expr> all;
    for (int i : live)
      for (Expr s : all_of_kind(plan_.accumulators[i].body, ExprKind::shift_reference))
        if (is_rolling(s) && std::find(all.begin(), all.end(), s) == all.end()) all.push_back(s);
    return all;
  }

  // ---- masks as bounds of the loop ----

  // Conditions without which an accumulator takes nothing from a position.
  static std::vector<Expr> needed_conditions(const Accumulator& a) {
    if (a.combine == Combine::max && a.body->is(ExprKind::select) && a.body->operands[2]->is_negative_infinity())
      return conjuncts(a.body->operands[0]);
    if (a.combine != Combine::sum) return {};
    if (a.body->is(ExprKind::indicator)) return conjuncts(a.body->operands[0]);
    for (const Factor& f : a.body->factors)
      if (f.base->is(ExprKind::indicator) && f.exponent.is_one()) return conjuncts(f.base->operands[0]);
    return {};
  }

  // The greatest value that an integer expression has in this program, as a scalar; none if that is not known before the loop.
  std::optional<Part> greatest_in_program(std::span<const Term> terms, Element e) {
    Part sum = tiles_.integer(e, 0);
    for (const Term& t : terms) {
      if (!t.coefficient.is_integer()) return std::nullopt;
      const auto c = static_cast<std::int64_t>(t.coefficient.numerator());
      Part x;
      if (t.value->is_number(1)) {
        x = tiles_.integer(e, 1);
      } else if (t.value->is(ExprKind::extent)) {
        x = tiles_.extent(t.value->extent, e);
      } else if (t.value->is(ExprKind::index)) {
        const AxisTile& tile = tiles_.tile(t.value->axis);
        x = tiles_.integer(e, c > 0 ? tile.size - 1 : 0);
        if (tile.start) x = tiles_.binary(OpKind::add_, tiles_.cast({tile.start, {}}, e), x, {});
      } else {
        return std::nullopt;
      }
      sum = tiles_.binary(OpKind::add_, sum, tiles_.binary(OpKind::mul_, x, tiles_.integer(e, c), {}), {});
    }
    return sum;
  }

  struct Bounds {
    Part begin, end;
  };

  // Positions at which every accumulator is masked for all rows of the program are left out: those behind the diagonal of a causal mask,
  // those before a window.
  Bounds loop_bounds(const std::vector<int>& live, bool has_outputs, Element e) {
    Bounds bounds{tiles_.integer(e, 0), tiles_.extent(plan_.loop->extent, e)};
    if (live.empty() || has_outputs) return bounds;
    std::vector<Expr> common = needed_conditions(plan_.accumulators[live[0]]);
    for (int i : live) {
      const std::vector<Expr> own = needed_conditions(plan_.accumulators[i]);
      std::erase_if(common, [&](Expr c) { return std::find(own.begin(), own.end(), c) == own.end(); });
    }
    for (Expr c : common) {
      if (!c->is(ExprKind::at_least_zero)) continue;
      std::vector<Term> rest = exprs_.terms(c->operands[0]);
      const auto own = std::find_if(rest.begin(), rest.end(), [&](const Term& t) { return t.value == exprs_.index(plan_.loop); });
      if (own == rest.end()) continue;
      const Rational direction = own->coefficient;
      rest.erase(own);
      const std::optional<Part> greatest = greatest_in_program(rest, e);
      if (!greatest) continue;
      if (direction == Rational(-1)) {  // position <= rest
        const Part end = tiles_.binary(OpKind::add_, *greatest, tiles_.integer(e, 1), {});
        bounds.end = tiles_.binary(OpKind::minimum_, bounds.end, end, {});
      } else if (direction == Rational(1)) {  // position >= -rest; tiles stay aligned
        const Part least = tiles_.binary(OpKind::maximum_, tiles_.unary(OpKind::neg_, *greatest), bounds.begin, {});
        const Part size = tiles_.integer(e, sizes_.loop);
        bounds.begin = tiles_.binary(OpKind::mul_, tiles_.binary(OpKind::div_, least, size, {}), size, {});
      }
    }
    return bounds;
  }

  std::map<int, Part> emit_loop(int pass, const std::vector<int>& live, const std::vector<const KernelOutput*>& along) {
    const Element index = index_element(exprs_.extent(plan_.loop->extent));
    const std::vector<Expr> shifts = rolling_shifts(live);
    const Bounds bounds = loop_bounds(live, !along.empty(), index);
    std::vector<ir::ValueId> operands{bounds.begin.value, bounds.end.value, tiles_.integer(index, sizes_.loop).value};
    std::vector<Order> orders;
    for (int i : live) {
      const Accumulator& a = plan_.accumulators[i];
      orders.push_back(order_of(a));
      operands.push_back(tiles_.neutral(a.fold(), element_of(a), orders.back()).value);
    }
    for (Expr s : shifts) {
      orders.push_back(tiles_.restricted(order_, s->axes));
      operands.push_back(tiles_.neutral(Combine::sum, s->element, orders.back()).value);
    }
    const std::size_t scans = along.empty() ? 0 : plan_.scans.size();
    for (std::size_t i = 0; i < scans; ++i) {
      const RunningScan& s = plan_.scans[i];
      AxisSet axes = s.body->axes;
      orders.push_back(tiles_.restricted(order_, axes));
      operands.push_back(tiles_.neutral(s.value->fold(), s.value->element, orders.back()).value);
    }
    const ir::OpId loop = ir_.create(OpKind::for_, operands);
    const ir::BlockId body = function_.region(loop);
    EmitScope scope;
    scope.block = body;
    scope.tiles[plan_.loop] = {sizes_.loop, function_.add_arg(body, ir::Type(index)),
                               plan_.loop->extent.known_divisor() % sizes_.loop == 0};
    if (plan_.is_reverse) scope.tiles[plan_.loop].start = from_the_end(loop, scope.tiles[plan_.loop].start, index);
    State old;
    std::vector<Part> running;
    std::map<int, Part> results;
    for (std::size_t i = 0; i < orders.size(); ++i) {
      const ir::Type type = function_.type(operands[3 + i]);
      const Part argument{function_.add_arg(body, type), orders[i]};
      const ir::ValueId result = function_.result(loop, static_cast<int>(i));
      if (i < live.size()) {
        old.accumulators[live[i]] = argument;
        results[live[i]] = {result, orders[i]};
      } else if (i >= live.size() + shifts.size()) {
        running.push_back(argument);
      } else {
        old.shifts[shifts[i - live.size()]] = argument;
        final_shifts_[shifts[i - live.size()]] = {result, orders[i]};
      }
    }
    tiles_.scope().before = loop;
    tiles_.push(std::move(scope));
    const State now = absorb_tile(pass, live, old, shifts);
    if (scans != 0) running = run_scans(running);
    for (const KernelOutput* o : along) store(*o);
    std::vector<ir::ValueId> yields;
    for (std::size_t i = 0; i < live.size(); ++i) yields.push_back(tiles_.broadcast(now.accumulators.at(live[i]), orders[i]));
    for (std::size_t i = 0; i < shifts.size(); ++i) yields.push_back(tiles_.broadcast(now.shifts.at(shifts[i]), orders[live.size() + i]));
    for (std::size_t i = 0; i < scans; ++i) yields.push_back(tiles_.broadcast(running[i], orders[live.size() + shifts.size() + i]));
    ir_.create(OpKind::yield_, yields);
    tiles_.pop();
    tiles_.scope().before = {};
    tiles_.to_scope();
    for (const auto& [shift, part] : final_shifts_) tiles_.know(shift, part);
    return results;
  }

  // ---- scans ----

  // The start of the tile of an iteration, in the body of the loop, if the last tile comes first.
  ir::ValueId from_the_end(ir::OpId loop, ir::ValueId counter, Element e) {
    tiles_.scope().before = loop;
    tiles_.to_scope();
    const Part size = tiles_.integer(e, sizes_.loop);
    const Part end = tiles_.binary(OpKind::sub_, tiles_.extent(plan_.loop->extent, e), tiles_.integer(e, 1), {});
    const Part last = tiles_.binary(OpKind::mul_, tiles_.binary(OpKind::div_, end, size, {}), size, {});
    ir_.at_end(function_.region(loop));
    const ir::ValueId start = tiles_.binary(OpKind::sub_, last, {counter, {}}, {}).value;
    tiles_.scope().before = {};
    return start;
  }

  // Gives the scans their values in this tile; what the next tile continues from. `before`: none for the first tile.
  std::vector<Part> run_scans(const std::vector<Part>& before) {
    std::vector<Part> next;
    for (std::size_t i = 0; i < plan_.scans.size(); ++i) {
      const RunningScan& s = plan_.scans[i];
      const auto [values, after] = tiles_.running(s.value->fold(), plan_.is_reverse, plan_.loop, s.body, s.value->element, order_with_loop_,
                                                  before.empty() ? std::nullopt : std::optional(before[i]));
      tiles_.know(s.value, values);
      next.push_back(after);
    }
    return next;
  }

  // ---- one tile ----

  // Values of expressions when reductions, references and shifts have these values.
  Part with(const PartsByExpr& known, Expr e, const Order& order) {
    EmitScope scope;
    scope.block = tiles_.scope().block;
    scope.before = tiles_.scope().before;
    scope.known = known;
    tiles_.push(std::move(scope));
    const Part result = tiles_.value_as(e, order, e->is(ExprKind::number) ? Element::f32 : e->element);
    tiles_.pop();
    return result;
  }

  Part terms_value(const Reduction& r, const std::map<int, Part>& accumulators, const PartsByExpr& known) {
    const Order order = tiles_.restricted(order_, r.value->axes);
    std::optional<Part> sum;
    for (const AccumulatorTerm& t : r.terms) {
      Part x = accumulators.at(t.accumulator);
      if (!t.factor->is_number(1)) {
        Part factor = with(known, t.factor, order);
        if (tiles_.element(factor) != tiles_.element(x)) factor = tiles_.cast(factor, tiles_.element(x));
        x = tiles_.binary(OpKind::mul_, factor, x, order);
      }
      sum = sum ? tiles_.binary(OpKind::add_, *sum, x, order) : x;
    }
    return *sum;
  }

  // A reference may be any number: what is none (-inf before the first element, 0 / 0) becomes 0.
  Part finite(const Part& x) {
    const Element e = tiles_.element(x);
    const Part is_finite = tiles_.binary(OpKind::lt_, tiles_.unary(OpKind::abs_, x), tiles_.constant(e, HUGE_VAL), x.axes);
    return tiles_.select(is_finite, x, tiles_.constant(e, 0), x.axes);
  }

  bool is_dead(const Reduction& r) const { return r.policy == Policy::constant || r.policy == Policy::unused; }

  // The state after a tile: `old` without accumulators is the empty state.
  State absorb_tile(int pass, const std::vector<int>& live, const State& old, const std::vector<Expr>& shifts) {
    State now;
    PartsByExpr before, after;  // running values of reductions
    std::unordered_map<Expr, Part, ExprHash> scales;
    for (const Reduction& r : plan_.reductions) {
      if (r.pass != pass) continue;
      if (r.constant) before[r.value] = after[r.value] = tiles_.constant(r.value->element, *r.constant);
      if (is_dead(r)) continue;
      for (const AccumulatorTerm& t : r.terms)
        if (now.accumulators.count(t.accumulator) == 0) update(t.accumulator, old, now, before, after, scales);
      if (r.policy == Policy::deferred && !is_needed_while_running(r)) continue;
      after[r.value] = terms_value(r, now.accumulators, after);
      if (!old.accumulators.empty()) before[r.value] = terms_value(r, old.accumulators, before);
      for (Expr s : shifts)
        if (now.shifts.count(s) == 0 && is_ready(s, pass, after)) {
          now.shifts[s] = finite(with(after, s->operands[0], order_));
          tiles_.know(s, now.shifts[s]);
        }
    }
    for (int i : live)
      if (now.accumulators.count(i) == 0) update(i, old, now, before, after, scales);
    return now;
  }

  // Whether another value that is needed in the loop has it as a factor.
  bool is_needed_while_running(const Reduction& r) const {
    return std::any_of(plan_.reductions.begin(), plan_.reductions.end(), [&](const Reduction& q) {
      return q.pass == r.pass && q.policy != Policy::deferred &&
             std::any_of(q.terms.begin(), q.terms.end(), [&](const AccumulatorTerm& t) { return contains(t.factor, r.value); });
    });
  }

  // Whether an exponent changes while the loop runs: constants do not.
  bool moves(Expr exponent) const {
    return std::any_of(plan_.reductions.begin(), plan_.reductions.end(),
                       [&](const Reduction& r) { return !is_dead(r) && contains(exponent, r.value); });
  }

  bool is_ready(Expr shift, int pass, const PartsByExpr& known) const {
    for (const Reduction& r : plan_.reductions)
      if (r.pass == pass && contains(shift->operands[0], r.value) && known.count(r.value) == 0) return false;
    return true;
  }

  void update(int index, const State& old, State& now, const PartsByExpr& before, const PartsByExpr& after,
              std::unordered_map<Expr, Part, ExprHash>& scales) {
    const Accumulator& a = plan_.accumulators[index];
    const Order order = order_of(a);
    for (Expr r : all_of_kind(a.body, ExprKind::reference))
      if (tiles_.scope().known.count(r) == 0) tiles_.know(r, finite(with(after, r->operands[0], order_)));
    std::optional<Part> start;
    if (!old.accumulators.empty()) {
      Part moved = old.accumulators.at(index);
      if (has_rolling_shift(a)) moved = shifted(a, old, now, order);
      if (moves(a.exponent)) {
        if (scales.count(a.exponent) == 0) scales[a.exponent] = scale(a.exponent, before, after);
        moved = tiles_.binary(OpKind::mul_, scales[a.exponent], moved, order);
      }
      start = moved;
    }
    Part next = tiles_.combine(a.fold(), {plan_.loop}, a.body, a.reduce->operand_element, order, start);
    next = {tiles_.broadcast(next, order), order};
    if (tiles_.element(next) != element_of(a)) next = tiles_.cast(next, element_of(a));
    now.accumulators[index] = next;
  }

  // exp(exponent new - exponent old). Before the first element a maximum is -inf: its exponent is +inf, and the factor 0.
  Part scale(Expr exponent, const PartsByExpr& before, const PartsByExpr& after) {
    bool has_sum = false;
    for (const Reduction& r : plan_.reductions)
      has_sum |= r.value->combine == Combine::sum && before.count(r.value) != 0 && contains(exponent, r.value);
    const Expr reference = exprs_.reference(exponent);
    const Part to = tiles_.scope().known.count(reference) != 0 ? tiles_.value(reference, order_) : finite(with(after, exponent, order_));
    const Part raw = with(before, exponent, order_);
    const Part from = has_sum ? finite(raw) : raw;
    return tiles_.exp_of_change(to, from, order_);
  }

  // The accumulator when its shift references have moved.
  Part shifted(const Accumulator& a, const State& old, const State& now, const Order& order) {
    PartsByExpr deltas;
    for (const auto& [shift, value] : now.shifts) {
      const Part change = tiles_.binary(OpKind::sub_, value, old.shifts.at(shift), order_);
      deltas[exprs_.delta(shift->operands[0])] = change;
    }
    // Shifts inside of the factors are those before the move.
    for (const auto& [shift, value] : old.shifts) deltas[shift] = value;
    std::optional<Part> sum;
    for (const AccumulatorTerm& t : a.move) {
      Part x = old.accumulators.at(t.accumulator);
      if (!t.factor->is_number(1)) x = tiles_.binary(OpKind::mul_, with(deltas, t.factor, order), x, order);
      sum = sum ? tiles_.binary(OpKind::add_, *sum, x, order) : x;
    }
    return *sum;
  }

  // ---- before and behind the loop ----

  // Shifts that do not roll: the value that the reductions would have if all tiles were like the first.
  void estimate_shifts(int pass) {
    std::vector<Expr> fixed;
    for (const Accumulator& a : plan_.accumulators)
      if (a.pass == pass)
        for (Expr s : all_of_kind(a.body, ExprKind::shift_reference))
          if (!is_rolling(s) && std::find(fixed.begin(), fixed.end(), s) == fixed.end()) fixed.push_back(s);
    if (fixed.empty()) return;
    EmitScope scope;
    scope.block = tiles_.scope().block;
    scope.tiles[plan_.loop] = {sizes_.loop, {}, plan_.loop->extent.known_divisor() % sizes_.loop == 0};
    tiles_.push(std::move(scope));
    const Part extent = tiles_.extent(plan_.loop->extent, Element::f32);
    const Part seen = tiles_.binary(OpKind::minimum_, extent, tiles_.constant(Element::f32, static_cast<double>(sizes_.loop)), {});
    const Part share = tiles_.binary(OpKind::div_, extent, seen, {});
    PartsByExpr estimates, found;
    for (const Reduction& r : plan_.reductions) {
      if (r.pass != pass || std::none_of(fixed.begin(), fixed.end(), [&](Expr s) { return contains(s->operands[0], r.value); })) continue;
      std::map<int, Part> first;
      for (const AccumulatorTerm& t : r.terms) {
        const Accumulator& a = plan_.accumulators[t.accumulator];
        first[t.accumulator] = tiles_.combine(a.fold(), {plan_.loop}, a.body, a.reduce->operand_element, order_of(a), std::nullopt);
      }
      const Part value = terms_value(r, first, estimates);
      estimates[r.value] = tiles_.binary(OpKind::mul_, tiles_.cast(share, tiles_.element(value)), value, order_);
      for (Expr s : fixed)
        if (found.count(s) == 0 && is_ready(s, pass, estimates)) {
          found[s] = finite(with(estimates, s->operands[0], order_));
          tiles_.know(s, found[s]);
        }
    }
    tiles_.pop();
    for (const auto& [shift, part] : found) tiles_.know(shift, part);
  }

  void complete(int pass, const std::map<int, Part>& accumulators) {
    PartsByExpr known;
    for (const Reduction& r : plan_.reductions) {
      if (r.pass != pass || r.policy == Policy::unused) continue;
      // What refers to a constant reference does so behind the loop, too.
      known[r.value] = r.constant ? tiles_.constant(r.value->element, *r.constant) : terms_value(r, accumulators, known);
      tiles_.know(r.value, known[r.value]);
    }
  }

  ir::Function function_;
  ir::Builder ir_;
  TileValues tiles_;
  ExprBuilder& exprs_;
  const Plan& plan_;
  const TileSizes& sizes_;
  Order order_, order_with_loop_;
  PartsByExpr final_shifts_;
  std::vector<GridFactor> grid_[3];
};

}  // namespace

EmittedKernel emit_kernel(const std::string& name, ExprBuilder& exprs, const Plan& plan, const TileSizes& sizes) {
  return KernelEmitter(name, exprs, plan, sizes).run();
}

}  // namespace tilewright::passes::fusion
