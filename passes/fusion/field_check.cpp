// Runs a plan in the field, and compares it with the definitions.
#include "passes/fusion/field_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "passes/fusion/field_eval.h"
#include "tileir/diagnostics.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;

constexpr int kTile = 2;
constexpr int kStates = 2;

// Residues of one value modulo both primes.
struct Residues {
  std::uint64_t value = 0, exponent = 0;
  std::uint64_t at(const Modulus& m) const { return m.prime() == Modulus::values().prime() ? value : exponent; }
};
using Table = std::map<Point, Residues>;

class PlanChecker {
 public:
  PlanChecker(const Plan& plan, std::uint64_t seed) : plan_(plan), seed_(seed) {}

  /// The first reduction whose terms are not its value, or scan whose tiles are not.
  std::optional<Expr> run() {
    for (const RunningScan& s : plan_.scans)
      if (!is_running(s)) return s.value;
    draw_complete_values();
    for (int pass = 1; pass <= plan_.passes; ++pass)
      if (const auto wrong = run_pass(pass)) return wrong;
    return std::nullopt;
  }

 private:
  // The references of a state and its accumulators at them.
  struct State {
    std::map<const ExprData*, Table> references, shifts;
    std::map<int, std::map<Point, std::uint64_t>> accumulators;
  };

  Residues random() {
    ++drawn_;
    return {mix(seed_, drawn_) % (Modulus::values().prime() - 1) + 1, mix(seed_ + 1, drawn_) % (Modulus::exponents().prime() - 1) + 1};
  }

  // Half of the residues have no root: one that a formula takes the root of is drawn until it has one, so that the square of the root is
  // it.
  void draw_complete_values() {
    constexpr int kMostDraws = 200;
    const std::vector<Expr> bases = bases_of_roots();
    for (const Reduction& r : plan_.reductions) {
      std::vector<Expr> own;
      for (Expr b : bases)
        if (b->axes.contains(r.value->axes) && contains(b, r.value) && is_drawn(b, r)) own.push_back(b);
      for (const Point& p : points(r.value->axes, plan_.loop))
        for (int i = 0; i < kMostDraws; ++i) {
          final_[r.value][p] = random();
          if (std::all_of(own.begin(), own.end(), [&](Expr b) { return has_roots(b, r.value->axes, p); })) break;
        }
    }
  }

  // What roots are taken of, without the loop's axis.
  std::vector<Expr> bases_of_roots() const {
    std::vector<Expr> found;
    ExprSet seen;
    const std::function<void(Expr)> visit = [&](Expr e) {
      if (!seen.insert(e).second) return;
      for (const Factor& f : e->factors)
        if (!f.exponent.is_integer() && !f.base->axes.contains(plan_.loop)) found.push_back(f.base);
      for (Expr x : children(e)) visit(x);
    };
    for (const KernelOutput& o : plan_.outputs) visit(o.value);
    return found;
  }

  // Whether no later reduction is part of the base.
  bool is_drawn(Expr base, const Reduction& last) const {
    return std::none_of(&last + 1, plan_.reductions.data() + plan_.reductions.size(),
                        [&](const Reduction& r) { return contains(base, r.value); });
  }

  bool has_roots(Expr base, const AxisSet& axes, const Point& p) const {
    const Modulus& m = Modulus::values();
    FieldEvaluator evaluator(seed_, plan_.loop, [&](Expr e, const Point& at, const Modulus& n) {
      return complete(e, at, n, [](const Reduction&) { return true; });
    });
    for (const Point& at : points(base->axes, plan_.loop))
      if (restricted(at, axes.common(base->axes)) == restricted(p, axes.common(base->axes)) && !has_root(evaluator.value(base, at, m)))
        return false;
    return true;
  }

  void draw_references(State& state, int pass, bool is_final) {
    for (const Reduction& r : plan_.reductions) {
      if (r.pass != pass) continue;
      for (const Point& p : points(r.value->axes, plan_.loop))
        state.references[r.value.operator->()][p] = is_final ? final_.at(r.value).at(p) : random();
    }
    for (Expr shift : shifts(pass))
      for (const Point& p : points(shift->axes, plan_.loop))
        if (Table& table = state.shifts[shift.operator->()]; !is_final || table.count(p) == 0) table[p] = random();
  }

  std::vector<Expr> shifts(int pass) const {
    std::vector<Expr> found;
    ExprSet seen;
    const std::function<void(Expr)> visit = [&](Expr e) {
      if (!seen.insert(e).second) return;
      if (e->is(ExprKind::shift_reference)) found.push_back(e);
      for (Expr x : children(e)) visit(x);
    };
    for (const Accumulator& a : plan_.accumulators)
      if (a.pass == pass) visit(a.body);
    for (const Reduction& r : plan_.reductions)
      if (r.pass == pass)
        for (const AccumulatorTerm& t : r.terms) visit(t.factor);
    return found;
  }

  // Complete values of reductions of earlier passes, or of all but one.
  std::optional<std::uint64_t> complete(Expr e, const Point& p, const Modulus& m,
                                        const std::function<bool(const Reduction&)>& is_complete) const {
    if (!e->is(ExprKind::reduce)) return std::nullopt;
    const Reduction* r = plan_.find(e);
    if (!r || !is_complete(*r)) return std::nullopt;
    return final_.at(e).at(restricted(p, e->axes)).at(m);
  }

  // Evaluates with the references of a state.
  FieldEvaluator at_references(const State& state, int pass, const std::map<const ExprData*, Table>* deltas = nullptr) const {
    return FieldEvaluator(seed_, plan_.loop,
                          [this, &state, pass, deltas](Expr e, const Point& p, const Modulus& m) -> std::optional<std::uint64_t> {
                            if (e->is(ExprKind::reference)) return with_references(state, pass).value(e->operands[0], p, m);
                            if (e->is(ExprKind::shift_reference)) return state.shifts.at(e.operator->()).at(restricted(p, e->axes)).at(m);
                            if (e->is(ExprKind::delta) && deltas)
                              return deltas->at(e->operands[0].operator->()).at(restricted(p, e->axes)).at(m);
                            return complete(e, p, m, [pass](const Reduction& r) { return r.pass < pass; });
                          });
  }

  // Evaluates what references stand for: pending reductions have the references' values.
  FieldEvaluator with_references(const State& state, int pass) const {
    return FieldEvaluator(seed_, plan_.loop,
                          [this, &state, pass](Expr e, const Point& p, const Modulus& m) -> std::optional<std::uint64_t> {
                            const auto reference = state.references.find(e.operator->());
                            if (reference != state.references.end()) return reference->second.at(restricted(p, e->axes)).at(m);
                            return complete(e, p, m, [pass](const Reduction& r) { return r.pass < pass; });
                          });
  }

  // The accumulator of one state at the references of another: moved by its shifts, then by its exponent.
  std::uint64_t moved(int index, const State& from, const State& to, int pass, const Point& p) const {
    const Modulus& m = Modulus::values();
    const Accumulator& a = plan_.accumulators[index];
    std::uint64_t result = from.accumulators.at(index).at(p);
    if (!a.move.empty()) {
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
        const auto& moving = from.accumulators.at(t.accumulator);
        const Point there = restricted(p, plan_.accumulators[t.accumulator].axes);
        result = m.add(result, m.multiply(evaluator.value(t.factor, p, m), moving.at(there)));
      }
    }
    if (!a.exponent->is_number(0)) {
      const Modulus& e = Modulus::exponents();
      const std::uint64_t change =
          e.subtract(with_references(to, pass).value(a.exponent, p, e), with_references(from, pass).value(a.exponent, p, e));
      result = m.multiply(result, field_exp(change));
    }
    return result;
  }

  // Brings the state to new references and adds a tile, or another state.
  void absorb(State& state, int pass, const std::vector<std::int64_t>& tile, const State* other, bool is_final) {
    const Modulus& m = Modulus::values();
    const State old = state;
    draw_references(state, pass, is_final);
    FieldEvaluator body = at_references(state, pass);
    for (std::size_t i = 0; i < plan_.accumulators.size(); ++i) {
      const Accumulator& a = plan_.accumulators[i];
      if (a.pass != pass || a.combine != Combine::sum) continue;
      const int index = static_cast<int>(i);
      for (const Point& p : points(a.axes, plan_.loop)) {
        std::uint64_t sum = old.accumulators.count(index) != 0 ? moved(index, old, state, pass, p) : 0;
        if (other) sum = m.add(sum, moved(index, *other, state, pass, p));
        for (std::int64_t position : tile) {
          Point all = p;
          all[plan_.loop] = position;
          sum = m.add(sum, body.value(a.body, all, m));
        }
        state.accumulators[index][p] = sum;
      }
    }
  }

  std::optional<Expr> run_pass(int pass) {
    const int extent = checked_extent(plan_.loop, plan_.loop);
    std::vector<State> states;
    for (int k = 0; k < kStates; ++k) {
      State state;
      const int begin = extent * k / kStates, end = extent * (k + 1) / kStates;
      for (int i = begin; i < end; i += kTile) {
        std::vector<std::int64_t> tile;
        for (int j = i; j < std::min(i + kTile, end); ++j) tile.push_back(j);
        absorb(state, pass, tile, nullptr, false);
      }
      states.push_back(std::move(state));
    }
    for (int k = 1; k < kStates; ++k) absorb(states[0], pass, {}, &states[k], false);
    absorb(states[0], pass, {}, nullptr, true);
    return compare(states[0], pass);
  }

  // Whether tiles that continue what the tiles before them gave are the running sum or product.
  bool is_running(const RunningScan& s) const {
    const bool is_sum = s.value->combine == Combine::sum;
    if (!is_sum && s.value->combine != Combine::prod) return true;
    const Modulus& m = Modulus::values();
    const auto both = [&](std::uint64_t x, std::uint64_t y) { return is_sum ? m.add(x, y) : m.multiply(x, y); };
    const auto nothing = [](Expr, const Point&, const Modulus&) -> std::optional<std::uint64_t> { return std::nullopt; };
    FieldEvaluator body(seed_, plan_.loop, nothing), definition(seed_, plan_.loop, nothing);
    const int extent = checked_extent(plan_.loop, plan_.loop), tiles = (extent + kTile - 1) / kTile;
    for (const Point& row : points(s.value->axes.without({plan_.loop}), plan_.loop)) {
      std::uint64_t before = is_sum ? 0 : 1;
      for (int k = 0; k < tiles; ++k) {
        const int begin = (plan_.is_reverse ? tiles - 1 - k : k) * kTile, end = std::min(begin + kTile, extent);
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
      if (e->is(ExprKind::shift_reference)) return state.shifts.at(e.operator->()).at(restricted(p, e->axes)).at(n);
      return complete(e, p, n, [](const Reduction&) { return true; });
    });
    for (const Reduction& r : plan_.reductions) {
      if (r.pass != pass || r.value->combine != Combine::sum) continue;
      FieldEvaluator definition(seed_, plan_.loop, [&](Expr e, const Point& p, const Modulus& n) {
        return complete(e, p, n, [&](const Reduction& other) { return &other != &r; });
      });
      for (const Point& p : points(r.value->axes, plan_.loop)) {
        std::uint64_t sum = 0;
        for (const AccumulatorTerm& t : r.terms) {
          const Point there = restricted(p, plan_.accumulators[t.accumulator].axes);
          sum = m.add(sum, m.multiply(factors.value(t.factor, p, m), state.accumulators.at(t.accumulator).at(there)));
        }
        if (sum != definition.value(r.value, p, m)) return r.value;
      }
    }
    return std::nullopt;
  }

  const Plan& plan_;
  std::uint64_t seed_, drawn_ = 0;
  std::map<Expr, Table, decltype([](Expr a, Expr b) { return a->key < b->key; })> final_;
};

// What the field has no law for, added to the text.
std::string unmodelled(const Plan& plan, std::string text) {
  const auto add = [&](const std::string& what) {
    if (text.find(what) == std::string::npos) text += (text.empty() ? "" : "; ") + what;
  };
  for (const RunningScan& s : plan.scans)
    if (s.value->combine != Combine::sum && s.value->combine != Combine::prod) add("running maxima and minima are not checked");
  for (const Reduction& r : plan.reductions)
    if (r.value->combine == Combine::combine) add("reductions by functions of the program are not checked");
  return text;
}

}  // namespace

ProofResult check_plan(ExprBuilder& b, const Plan& plan, int rounds, std::uint64_t seed) {
  ProofResult result;
  if (b.has_rounded()) {
    result.exact = false;
    result.text = "a coefficient has more than 127 bits and was rounded";
  }
  if (!plan.loop) {
    result.text = "no reduction: the formulas are computed as they are";
    return result;
  }
  result.text = unmodelled(plan, std::move(result.text));
  // A polynomial of this degree at most, in each of the random values.
  constexpr double kDegree = 64;
  for (int i = 0; i < rounds; ++i) {
    if (const auto wrong = PlanChecker(plan, mix(seed, static_cast<std::uint64_t>(i))).run()) {
      result.exact = false;
      result.text = "the accumulators do not give a reduction, or the tiles a scan";
      return result;
    }
    ++result.rounds;
    result.log2_error += std::log2(kDegree) - std::log2(static_cast<double>(Modulus::values().prime()));
  }
  return result;
}

std::vector<Expr> unobserved_maxima(ExprBuilder&, const Plan& plan, std::uint64_t seed) {
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
