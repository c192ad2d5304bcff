// Runs a plan in the field, and compares its results with the definitions of the reductions.
#include "passes/fusion/check/field_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "passes/fusion/check/field_eval.h"
#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/thresholds.h"
#include "tileir/diagnostics.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;

// The residues of one value modulo both primes.
struct Residues {
  std::uint64_t value = 0, exponent = 0;
  std::uint64_t at(const Modulus& m) const { return m.prime() == Modulus::values().prime() ? value : exponent; }
};
using Table = std::map<Point, Residues>;

class PlanChecker {
 public:
  PlanChecker(const LoopPlan& plan, std::uint64_t seed) : plan_(plan), seed_(seed) {}

  /// The first reduction whose terms do not add up to its value, or the first scan whose tiles do not; none if all are correct.
  std::optional<Expr> run() {
    for (const RunningScan& s : plan_.scans)
      if (!is_running(s)) return s.value;
    draw_complete_values();
    for (int pass = 1; pass <= plan_.passes; ++pass)
      if (const auto wrong = run_pass(pass)) return wrong;
    return std::nullopt;
  }

 private:
  // A state: its references, and its accumulators at these references.
  struct State {
    std::map<const ExprData*, Table> references, shifts;
    std::map<int, std::map<Point, std::uint64_t>> accumulators;
  };

  Residues random() {
    ++drawn_;
    return {mix(seed_, drawn_) % (Modulus::values().prime() - 1) + 1, mix(seed_ + 1, drawn_) % (Modulus::exponents().prime() - 1) + 1};
  }

  // A value of which a root is taken, and the axes of a reduction along which its values are those of the base (it may read others too).
  struct RootBase {
    Expr value;
    AxisSet common;
  };

  // Half of the residues have no root. A value of which a formula takes a root is drawn repeatedly until it has one, so that the square of
  // the root is the value.
  void draw_complete_values() {
    const std::vector<Expr> bases = bases_of_roots();
    for (const Reduction& r : plan_.reductions) {
      std::vector<RootBase> own;
      for (Expr b : bases)
        if (contains(b, r.value) && is_drawn(b, r)) own.push_back({b, common_axes(b, r.value)});
      for (const Point& p : points(r.value->axes, plan_.loop))
        for (int i = 0; i < kMostDrawsOfRoots; ++i) {
          final_[r.value][p] = random();
          if (std::all_of(own.begin(), own.end(), [&](const RootBase& b) { return has_roots(b, p); })) break;
        }
    }
  }

  // A softmax reads its scores at its own position and at all others: the maximum and the sum bind the axis.
  AxisSet common_axes(Expr base, Expr reduction) const {
    AxisSet bound;
    ExprSet seen;
    walk_inwards(base, seen, [&](Expr e) {
      if (e == reduction) return false;
      if (e->bound.intersects(reduction->axes) && contains(e, reduction)) bound.insert(e->bound);
      return true;
    });
    return base->axes.common(reduction->axes).without(bound);
  }

  // The values of which roots are taken, without the loop's axis.
  std::vector<Expr> bases_of_roots() const {
    std::vector<Expr> found;
    ExprSet seen;
    for (const KernelOutput& o : plan_.outputs)
      walk_inwards(o.value, seen, [&](Expr e) {
        for (const Factor& f : e->factors)
          if (!f.exponent.is_integer() && !f.base->axes.contains(plan_.loop)) found.push_back(f.base);
        return true;
      });
    return found;
  }

  // Whether the base depends on no reduction later than this one.
  bool is_drawn(Expr base, const Reduction& last) const {
    return std::none_of(&last + 1, plan_.reductions.data() + plan_.reductions.size(),
                        [&](const Reduction& r) { return contains(base, r.value); });
  }

  // Whether the base has a root at all points where the values drawn so far, the last one at p, determine it.
  bool has_roots(const RootBase& base, const Point& p) const {
    const Point here = restricted(p, base.common);
    for (const Point& at : points(base.value->axes, plan_.loop)) {
      if (restricted(at, base.common) != here) continue;
      bool is_decided = true;
      FieldEvaluator evaluator(seed_, plan_.loop, [&](Expr e, const Point& point, const Modulus& n) -> std::optional<std::uint64_t> {
        const Reduction* r = e->is(ExprKind::reduce) ? plan_.find(e) : nullptr;
        if (!r) return std::nullopt;
        if (const auto table = final_.find(e); table != final_.end())
          if (const auto drawn = table->second.find(restricted(point, e->axes)); drawn != table->second.end()) return drawn->second.at(n);
        is_decided = false;
        return 1;
      });
      const std::uint64_t value = evaluator.value(base.value, at, Modulus::values());
      if (is_decided && !has_root(value)) return false;
    }
    return true;
  }

  // The complete values of reductions of earlier passes, or of all reductions but one.
  std::optional<std::uint64_t> complete(Expr e, const Point& p, const Modulus& m,
                                        const std::function<bool(const Reduction&)>& is_complete) const {
    if (!e->is(ExprKind::reduce)) return std::nullopt;
    const Reduction* r = plan_.find(e);
    if (!r || !is_complete(*r)) return std::nullopt;
    return final_.at(e).at(restricted(p, e->axes)).at(m);
  }

  // The value of a shift or of its change. If the plan lacks the step that makes it, the plan is wrong.
  std::uint64_t found(const std::map<const ExprData*, Table>& tables, Expr key, Expr value, const Point& p, const Modulus& m) const {
    const auto table = tables.find(key.operator->());
    if (table == tables.end()) missing_ = value;
    return table == tables.end() ? 0 : table->second.at(restricted(p, value->axes)).at(m);
  }

  // Evaluates expressions with the references of a state.
  FieldEvaluator at_references(const State& state, int pass, const std::map<const ExprData*, Table>* deltas = nullptr) const {
    return FieldEvaluator(seed_, plan_.loop,
                          [this, &state, pass, deltas](Expr e, const Point& p, const Modulus& m) -> std::optional<std::uint64_t> {
                            if (e->is(ExprKind::reference)) return with_references(state, pass).value(e->operands[0], p, m);
                            if (e->is(ExprKind::shift_reference)) return found(state.shifts, e, e, p, m);
                            if (e->is(ExprKind::delta) && deltas) return found(*deltas, e->operands[0], e, p, m);
                            return complete(e, p, m, [pass](const Reduction& r) { return r.pass < pass; });
                          });
  }

  // Evaluates expressions in which pending reductions have the values of their references.
  FieldEvaluator with_references(const State& state, int pass) const {
    return FieldEvaluator(seed_, plan_.loop,
                          [this, &state, pass](Expr e, const Point& p, const Modulus& m) -> std::optional<std::uint64_t> {
                            const auto reference = state.references.find(e.operator->());
                            if (reference != state.references.end()) return reference->second.at(restricted(p, e->axes)).at(m);
                            if (const Reduction* r = plan_.find(e); r && r->pass == pass) missing_ = e;
                            return complete(e, p, m, [pass](const Reduction& r) { return r.pass < pass; });
                          });
  }

  std::uint64_t accumulated(int index, const State& state, const Point& p) const {
    const Accumulator& a = plan_.accumulators[static_cast<std::size_t>(index)];
    const auto table = state.accumulators.find(index);
    if (table == state.accumulators.end()) missing_ = a.body;
    return table == state.accumulators.end() ? 0 : table->second.at(restricted(p, a.axes));
  }

  // The accumulator of one state, moved to the references of another: first by its shifts, then by its exponent.
  std::uint64_t moved(const UpdateStep& step, const State& from, const State& to, int pass, const Point& p) const {
    const Modulus& m = Modulus::values();
    const Accumulator& a = plan_.accumulators[static_cast<std::size_t>(step.index)];
    std::uint64_t result = accumulated(step.index, from, p);
    if (step.moves_by_shifts) {
      std::map<const ExprData*, Table> deltas;
      for (const auto& [shift, table] : to.shifts)
        for (const auto& [at, value] : table) {
          const Residues old = from.shifts.at(shift).at(at);
          deltas[shift->operands[0].operator->()][at] = {m.subtract(value.value, old.value),
                                                         Modulus::exponents().subtract(value.exponent, old.exponent)};
        }
      FieldEvaluator evaluator = at_references(from, pass, &deltas);
      result = 0;
      for (const AccumulatorTerm& t : a.move) {
        result = m.add(result, m.multiply(evaluator.value(t.factor, p, m), accumulated(t.accumulator, from, p)));
      }
    }
    if (step.moves_by_exponent) {
      const Modulus& e = Modulus::exponents();
      const std::uint64_t change =
          e.subtract(with_references(to, pass).value(a.exponent, p, e), with_references(from, pass).value(a.exponent, p, e));
      result = m.multiply(result, field_exp(change));
    }
    return result;
  }

  // Follows the steps of the pass: the state `old` is updated with other states, or with a tile of the loop's positions. References are
  // random, except that those of the last update are the complete values. Accumulators of maxima are not modelled here.
  State update(int pass, const State* old, const std::vector<const State*>& others, const std::vector<std::int64_t>& tile, bool is_last) {
    const Modulus& m = Modulus::values();
    const PassState& steps = plan_.states[static_cast<std::size_t>(pass - 1)];
    State now;
    now.shifts = fixed_shifts_;
    FieldEvaluator body = at_references(now, pass);
    for (const Reduction& r : plan_.reductions)
      if (r.pass == pass && r.constant) now.references[r.value.operator->()] = final_.at(r.value);
    for (const UpdateStep& step : steps.steps) {
      switch (step.kind) {  // a new kind: docs/extending.md, Adding a form of fusion, step 3
        case UpdateStep::Kind::refer: {
          const Expr value = plan_.reductions[static_cast<std::size_t>(step.index)].value;
          for (const auto& [p, complete] : final_.at(value)) now.references[value.operator->()][p] = is_last ? complete : random();
          break;
        }
        case UpdateStep::Kind::shift:
          for (const Point& p : points(step.shift->axes, plan_.loop)) {
            with_references(now, pass).value(step.shift->operands[0], p, m);  // checks that its parts exist
            now.shifts[step.shift.operator->()][p] = random();
          }
          break;
        case UpdateStep::Kind::accumulate: {
          const Accumulator& a = plan_.accumulators[static_cast<std::size_t>(step.index)];
          if (a.combine != Combine::sum) break;
          for (const Point& p : points(a.axes, plan_.loop)) {
            std::uint64_t sum = old ? moved(step, *old, now, pass, p) : 0;
            for (const State* other : others) sum = m.add(sum, moved(step, *other, now, pass, p));
            for (std::int64_t position : tile) {
              Point all = p;
              all[plan_.loop] = position;
              sum = m.add(sum, body.value(a.body, all, m));
            }
            now.accumulators[step.index][p] = sum;
          }
          break;
        }
      }
    }
    return now;
  }

  // Runs the whole loop; then three parts of it, one of them empty, and merges their states: first two at once, then the third.
  std::optional<Expr> run_pass(int pass) {
    fixed_shifts_.clear();
    for (Expr shift : plan_.states[static_cast<std::size_t>(pass - 1)].fixed_shifts)
      for (const Point& p : points(shift->axes, plan_.loop)) fixed_shifts_[shift.operator->()][p] = random();
    const int extent = checked_extent(plan_.loop, plan_.loop);
    std::optional<Expr> wrong = compare(walk(pass, 0, extent, true), pass);
    if (!wrong && plan_.passes == 1) {
      const State first = walk(pass, 0, kTileOfCheck, false), second = walk(pass, kTileOfCheck, extent, false),
                  empty = walk(pass, 0, 0, false);
      const State both = update(pass, nullptr, {&first, &empty}, {}, false);
      wrong = compare(update(pass, &both, {&second}, {}, true), pass);
    }
    return missing_ ? missing_ : wrong;
  }

  // Updates a state with tiles, one after another. If the state is that of the whole loop, the last tile brings it to the complete values.
  State walk(int pass, int begin, int end, bool is_whole) {
    State state = update(pass, nullptr, {}, {}, false);
    for (int i = begin; i < end; i += kTileOfCheck) {
      std::vector<std::int64_t> tile;
      for (int j = i; j < std::min(i + kTileOfCheck, end); ++j) tile.push_back(j);
      state = update(pass, &state, {}, tile, is_whole && i + kTileOfCheck >= end);
    }
    return state;
  }

  // Whether tiles that continue from the results of earlier tiles give the running sum or product.
  bool is_running(const RunningScan& s) const {
    const bool is_sum = s.value->combine == Combine::sum;
    if (!is_sum && s.value->combine != Combine::prod) return true;
    const Modulus& m = Modulus::values();
    const auto both = [&](std::uint64_t x, std::uint64_t y) { return is_sum ? m.add(x, y) : m.multiply(x, y); };
    const auto nothing = [](Expr, const Point&, const Modulus&) -> std::optional<std::uint64_t> { return std::nullopt; };
    FieldEvaluator body(seed_, plan_.loop, nothing), definition(seed_, plan_.loop, nothing);
    const int extent = checked_extent(plan_.loop, plan_.loop), tiles = (extent + kTileOfCheck - 1) / kTileOfCheck;
    for (const Point& row : points(s.value->axes.without({plan_.loop}), plan_.loop)) {
      std::uint64_t before = is_sum ? 0 : 1;
      for (int k = 0; k < tiles; ++k) {
        const int begin = (plan_.is_reverse ? tiles - 1 - k : k) * kTileOfCheck, end = std::min(begin + kTileOfCheck, extent);
        std::uint64_t inside = is_sum ? 0 : 1;
        for (int i = 0; i < end - begin; ++i) {
          Point at = row;
          at[plan_.loop] = plan_.is_reverse ? end - 1 - i : begin + i;
          inside = both(inside, body.value(s.body, at, m));
          if (both(before, inside) != definition.value(s.value, at, m)) return false;
        }
        before = both(before, inside);
      }
    }
    return true;
  }

  std::optional<Expr> compare(const State& state, int pass) {
    const Modulus& m = Modulus::values();
    FieldEvaluator factors(seed_, plan_.loop, [&](Expr e, const Point& p, const Modulus& n) -> std::optional<std::uint64_t> {
      if (e->is(ExprKind::shift_reference)) return found(state.shifts, e, e, p, n);
      return complete(e, p, n, [](const Reduction&) { return true; });
    });
    for (const Reduction& r : plan_.reductions) {
      if (r.pass != pass || (r.value->combine != Combine::sum && !is_float_extreme(r.value))) continue;
      FieldEvaluator definition(seed_, plan_.loop, [&](Expr e, const Point& p, const Modulus& n) {
        return complete(e, p, n, [&](const Reduction& other) { return &other != &r; });
      });
      for (const Point& p : points(r.value->axes, plan_.loop)) {
        std::uint64_t sum = 0;
        for (const AccumulatorTerm& t : r.terms) {
          const std::uint64_t whole = r.value->combine == Combine::sum ? accumulated(t.accumulator, state, p) : extreme(factors, t, p);
          sum = m.add(sum, m.multiply(factors.value(t.factor, p, m), whole));
        }
        if (sum != definition.value(r.value, p, m)) return r.value;
      }
    }
    return std::nullopt;
  }

  static bool is_float_extreme(Expr e) {
    return e->is(ExprKind::reduce) && (e->combine == Combine::max || e->combine == Combine::min) && ir::is_float(e->element);
  }

  // The value of an accumulator of extremes after the loop, which may walk its axis in any order.
  std::uint64_t extreme(FieldEvaluator& evaluator, const AccumulatorTerm& t, const Point& p) const {
    const Accumulator& a = plan_.accumulators[static_cast<std::size_t>(t.accumulator)];
    const bool is_one = is_float_extreme(a.body) && a.body->combine == a.combine;
    AxisSet bound{plan_.loop};
    if (is_one) bound.insert(a.body->bound);
    return evaluator.extreme(a.combine, bound, is_one ? a.body->operands[0] : a.body, p, Modulus::values());
  }

  const LoopPlan& plan_;
  std::map<const ExprData*, Table> fixed_shifts_;
  mutable std::optional<Expr> missing_;  // a reduction whose value a step needs before it is available
  std::uint64_t seed_, drawn_ = 0;
  std::map<Expr, Table, decltype([](Expr a, Expr b) { return a->key < b->key; })> final_;
};

// Adds the parts of the plan for which the field has no law.
void add_unmodelled(const LoopPlan& plan, std::vector<std::string>& left_open) {
  const auto is_unmodelled = [](const RunningScan& s) { return s.value->combine != Combine::sum && s.value->combine != Combine::prod; };
  if (std::any_of(plan.scans.begin(), plan.scans.end(), is_unmodelled))
    left_open.push_back("running maxima and minima are compared with the graph alone");
  if (std::any_of(plan.reductions.begin(), plan.reductions.end(), [](const Reduction& r) { return r.value->combine == Combine::combine; }))
    left_open.push_back("reductions by functions of the user are compared with the graph alone");
}

}  // namespace

ProofResult check_plan(const ExprBuilder& b, const LoopPlan& plan, int rounds, std::uint64_t seed) {
  ProofResult result;
  if (b.has_rounded()) {
    result.exact = false;
    result.left_open.push_back("a coefficient has more than 127 bits and was rounded");
  }
  if (!plan.loop) {
    result.text = "no reduction: the formulas are computed as they are";
    return result;
  }
  add_unmodelled(plan, result.left_open);
  for (int i = 0; i < rounds; ++i) {
    if (const auto wrong = PlanChecker(plan, mix(seed, static_cast<std::uint64_t>(i))).run()) {
      result.exact = false;
      result.is_refuted = true;
      result.text = "the accumulators do not give a reduction, or the tiles a scan";
      return result;
    }
    ++result.rounds;
    result.log2_error += std::log2(kMostDegree) - std::log2(static_cast<double>(Modulus::values().prime()));
  }
  return result;
}

ProofResult check_by(const PlanCheck& check, const ExprBuilder& b, const LoopPlan& plan) {
  return check ? check(b, plan) : check_plan(b, plan);
}

std::vector<Expr> unobserved_maxima(const LoopPlan& plan, std::uint64_t seed) {
  std::vector<Expr> found;
  const Modulus& m = Modulus::values();
  for (const Reduction& r : plan.reductions) {
    if (r.value->combine != Combine::max) continue;
    const auto with_value = [&](std::uint64_t variant) {
      return FieldEvaluator(seed, plan.loop, [&, variant](Expr e, const Point& p, const Modulus& n) -> std::optional<std::uint64_t> {
        if (e == r.value) return random_residue(seed + variant, e->key, restricted(p, e->axes), n);
        return std::nullopt;
      });
    };
    FieldEvaluator one = with_value(1), two = with_value(2);
    const bool is_unobserved = std::all_of(plan.outputs.begin(), plan.outputs.end(), [&](const KernelOutput& o) {
      const std::vector<Point> all = points(o.value->axes, plan.loop);
      return std::all_of(all.begin(), all.end(), [&](const Point& p) { return one.value(o.value, p, m) == two.value(o.value, p, m); });
    });
    if (is_unobserved) found.push_back(r.value);
  }
  return found;
}

}  // namespace tilewright::passes::fusion
