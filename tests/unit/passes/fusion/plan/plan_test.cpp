// Plans of the workloads: passes, policies, equal plans of equivalent formulas, and the exact check with its mutants.
#include <doctest/doctest.h>

#include <functional>

#include "passes/fusion/check/field_check.h"
#include "passes/fusion/plan/loop_plan.h"
#include "tests/unit/passes/fusion/derive.h"
#include "tests/unit/passes/fusion/rewrite.h"

namespace tilewright::passes::fusion::test {
namespace {

const Workload& workload(const std::string& name) {
  for (const Workload& w : workloads())
    if (w.name == name) return w;
  FAIL("no workload " << name);
  return workloads().front();
}

LoopPlan plan_over(Derived& d, const std::string& axis) { return LoopPlan(*d.exprs, d.outputs, d.pool->find_axis(axis)); }

const Reduction& maximum(const LoopPlan& p) {
  for (const Reduction& r : p.reductions)
    if (r.value->combine == graph::Combine::max) return r;
  FAIL("the plan has no maximum");
  return p.reductions.front();
}

TEST_CASE("fusion plan: each workload has the passes that its formula needs") {
  for (const Workload& w : workloads()) {
    CAPTURE(w.name);
    Variants plain;
    Derived d = derive(w, plain);
    const LoopPlan p = w.name == "exp_of_scaled" ? plan_over(d, "k2") : plan_of(d);
    CHECK(p.passes == w.passes);
    CHECK(p.refusals.empty() == !w.is_refused);
  }
}

TEST_CASE("fusion plan: equivalent formulas give one plan") {
  constexpr int kSeeds = 100;
  for (const Workload& w : workloads()) {
    CAPTURE(w.name);
    Variants plain;
    Derived d = derive(w, plain);
    const std::string want = plan_of(d).text();
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      CAPTURE(seed);
      Variants random;
      random.seed(seed);
      Derived other = derive(w, random);
      REQUIRE(plan_of(other).text() == want);
    }
  }
}

TEST_CASE("fusion plan: rewritings that keep the meaning keep the plan") {
  constexpr int kSeeds = 60;
  for (const auto precision : {graph::ProductPrecision::standard, graph::ProductPrecision::ieee})
    for (const Workload& w : workloads()) {
      CAPTURE(w.name);
      CAPTURE(static_cast<int>(precision));
      const auto plan_text = [&](Variants how) {
        graph::Graph spelled;
        w.build(spelled, how);
        Derived d;
        rewrite(spelled, *d.graph, how, precision);
        translate_outputs(d);
        return plan_of(d).text();
      };
      const std::string want = plan_text({});
      for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        CAPTURE(seed);
        Variants random;
        random.seed(seed);
        REQUIRE(plan_text(random) == want);
      }
    }
}

TEST_CASE("fusion plan: a maximum of exponents rolls, and no output depends on it") {
  Variants plain;
  Derived d = derive(workload("attention"), plain);
  const LoopPlan p = plan_of(d);
  CHECK(maximum(p).policy == Policy::rolling);
  CHECK(maximum(p).is_only_reference);
  CHECK(p.loop->name == "k2");
  CHECK(p.accumulators.size() == 3);
}

TEST_CASE("fusion plan: bounded scores need no maximum") {
  Variants plain;
  Derived d = derive(workload("softcap"), plain);
  const LoopPlan p = plan_of(d);
  CHECK(maximum(p).policy == Policy::constant);
  CHECK(maximum(p).constant == 0.0);
}

// f16 cannot hold exponentials of differences of up to 40.
TEST_CASE("fusion plan: operands in f16 keep the maximum of bounded scores") {
  for (const double cap : {4.0, 20.0}) {
    Derived d;
    graph::Graph& g = *d.graph;
    const Formula s = tanh(input(g, "s", {9, 53})) * cap, v = input(g, "v", {53, 6}, ir::Element::f16), e = exp(s - max(s));
    const Formula o = einsum("qk,ke->qe", {cast(e / sum(e), ir::Element::f16), v});
    builder(g).output("o", cast(o, ir::Element::f32).id);
    translate_outputs(d);
    const LoopPlan p = plan_of(d);
    INFO(p.text());
    CHECK(p.passes == 1);
    CHECK(maximum(p).policy == (cap < 5 ? Policy::constant : Policy::rolling));
  }
}

// The values of a square or a product with a form, and of one that needs another pass.
LoopPlan plan_of_squares(Derived& d, const std::function<Formula(graph::Graph&, Formula x)>& squared) {
  const Formula x = input(*d.graph, "x", {53});
  builder(*d.graph).output("y", sum(squared(*d.graph, x), {0}, false).id);
  translate_outputs(d);
  return plan_of(d);
}
Formula average(Formula x) { return sum(x, {0}) / 53.0; }

TEST_CASE("fusion plan: only squares of differences from an average of the data are taken apart") {
  struct Case {
    const char* name;
    int passes;
    std::function<Formula(graph::Graph&, Formula)> squared;
  };
  const auto other = [](graph::Graph& g, const char* name) { return input(g, name, {53}); };
  const Case cases[] = {
      {"variance", 1, [](graph::Graph&, Formula x) { return square(x - average(x)); }},
      {"fourth moment", 1, [](graph::Graph&, Formula x) { return square(square(x - average(x))); }},
      {"covariance", 1,
       [&](graph::Graph& g, Formula x) {
         const Formula z = other(g, "z");
         return (x - average(x)) * (z - average(z));
       }},
      {"difference", 1, [&](graph::Graph& g, Formula x) { return (x - average(x)) * other(g, "z"); }},
      {"weights", 1,
       [&](graph::Graph& g, Formula x) {
         const Formula w = other(g, "w");
         return square(x - sum(w * x, {0}) / sum(w, {0})) * w;
       }},
      {"other weights", 2,
       [&](graph::Graph& g, Formula x) {
         const Formula w = other(g, "w");
         return square(x - sum(w * x, {0}) / sum(w, {0}));
       }},
      {"weights and a count", 2,
       [&](graph::Graph& g, Formula x) {
         const Formula w = other(g, "w");
         return square(x - sum(w * x, {0}) / maximum(sum(w, {0}), number(g, 1))) * w;
       }},
      {"average of other data", 2,
       [&](graph::Graph& g, Formula x) {
         const Formula z = other(g, "z");
         return square(x - average(z)) * z;
       }},
      {"multiple", 2,
       [&](graph::Graph& g, Formula x) {
         const Formula z = other(g, "z");
         return square(x - sum(x * z, {0}) * z);
       }},
      {"positive terms", 1, [](graph::Graph&, Formula x) { return square(1.0 + abs(x) / sum(abs(x), {0})); }},
      {"scaled square", 2, [](graph::Graph&, Formula x) { return square(x / max(abs(x), {0})); }},
      {"scaled product", 1, [&](graph::Graph& g, Formula x) { return x / max(abs(x), {0}) * other(g, "z"); }},
      {"exp from a mean", 2, [](graph::Graph&, Formula x) { return exp(x - average(x)); }},
      {"exp from a maximum", 1, [](graph::Graph&, Formula x) { return exp(x - max(x, {0})); }},
      {"exp from another maximum", 2,
       [&](graph::Graph& g, Formula x) {
         const Formula z = other(g, "z");
         return exp(x - max(z, {0})) * z;
       }},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    Derived d;
    const LoopPlan p = plan_of_squares(d, c.squared);
    INFO(p.text());
    CHECK(p.passes == c.passes);
    CHECK(check_plan(*d.exprs, p).exact);
  }
}

TEST_CASE("fusion plan: the shift of an average with weights follows it") {
  const auto shift = [](bool is_weighted) {
    Derived d;
    const LoopPlan p = plan_of_squares(d, [&](graph::Graph& g, Formula x) {
      if (!is_weighted) return square(x - average(x));
      const Formula w = input(g, "w", {53});
      return square(x - sum(w * x, {0}) / sum(w, {0})) * w;
    });
    return std::pair(p.states[0].fixed_shifts.size(), p.states[0].rolling_shifts.size());
  };
  CHECK(shift(false) == std::pair<std::size_t, std::size_t>(1, 0));
  CHECK(shift(true) == std::pair<std::size_t, std::size_t>(0, 1));
}

TEST_CASE("fusion plan: the averages of each value that a sum subtracts have a reference") {
  struct Case {
    const char* name;
    std::size_t fixed, rolling;
    Formula (*squared)(graph::Graph&, Formula);
  };
  const Case cases[] = {
      {"one value", 1, 0, [](graph::Graph&, Formula x) { return square(x - average(x)); }},
      {"two values", 2, 0,
       [](graph::Graph& g, Formula x) {
         const Formula z = input(g, "z", {53});
         return square((x - average(x)) - (z - average(z)) * 0.3);
       }},
      {"a difference", 1, 0,
       [](graph::Graph& g, Formula x) {
         const Formula d = x - input(g, "z", {53});
         return square((d - average(d)) * 0.3);
       }},
      {"an average, and a maximum that follows its value", 1, 1,
       [](graph::Graph& g, Formula x) {
         const Formula z = input(g, "z", {53});
         return square((x - average(x)) - (z - max(z, {0})));
       }},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    Derived d;
    const LoopPlan p = plan_of_squares(d, c.squared);
    INFO(p.text());
    CHECK(p.states[0].fixed_shifts.size() == c.fixed);
    CHECK(p.states[0].rolling_shifts.size() == c.rolling);
    CHECK(check_plan(*d.exprs, p).exact);
  }
}

TEST_CASE("fusion plan: a maximum that is an output is observed") {
  Variants plain;
  Derived d = derive(workload("statistics"), plain);
  const LoopPlan p = plan_of(d);
  CHECK_FALSE(maximum(p).is_only_reference);
  CHECK(maximum(p).policy == Policy::rolling);
}

TEST_CASE("fusion plan: a mean under a square is shifted") {
  Variants plain;
  Derived d = derive(workload("layer_product"), plain);
  const LoopPlan p = plan_of(d);
  CHECK(p.reductions[0].policy == Policy::shifted);
}

TEST_CASE("fusion plan: a refusal names what needs what") {
  Variants plain;
  Derived d = derive(workload("rounded"), plain);
  const LoopPlan p = plan_of(d);
  REQUIRE(p.refusals.size() == 1);
  CHECK(p.refusals[0].why.reason == "rint of a value with data and a pending reduction");
  CHECK(p.refusals[0].why.pending->combine == graph::Combine::max);
}

// A causal mask and a window leave each row a key, so that the sum of the exponentials is positive, and its inverse is finite below the
// mask of a dropout. Whether a mask that is data does so is not known.
TEST_CASE("fusion plan: a dropout after a masked softmax is one pass where each row has a key") {
  constexpr int kSize = 53;
  for (const char* kind : {"causal", "window", "data"}) {
    CAPTURE(kind);
    Derived d;
    graph::Graph& g = *d.graph;
    const Formula s = input(g, "s", {kSize, kSize}), v = input(g, "v", {kSize, 6}), i = iota(g, {kSize, 1}, 0), j = iota(g, {1, kSize}, 1);
    const Formula causal = greater_equal(i, j);
    const Formula mask = kind == std::string("causal")   ? causal
                         : kind == std::string("window") ? both(causal, less(i - j, like(i, 8)))
                                                         : input(g, "mask", {kSize, kSize}, ir::Element::boolean);
    const Formula keep = input(g, "keep", {kSize, kSize}, ir::Element::boolean), masked = where(mask, s, like(s, -HUGE_VAL));
    const Formula e = exp(masked - max(masked)), p = e / sum(e);
    builder(g).output("o", einsum("qk,ke->qe", {where(keep, p / 0.875, like(p, 0)), v}).id);
    translate_outputs(d);
    const LoopPlan plan = plan_over(d, "keep1");
    CAPTURE(plan.text());
    CHECK(plan.passes == (kind == std::string("data") ? 2 : 1));
  }
}

TEST_CASE("exact check: every plan passes") {
  for (const Workload& w : workloads()) {
    CAPTURE(w.name);
    Variants plain;
    Derived d = derive(w, plain);
    const ProofResult proof = check_plan(*d.exprs, plan_of(d));
    CHECK(proof.exact);
    CHECK(proof.rounds == 2);
    CHECK(proof.log2_error < -100);
  }
}

TEST_CASE("exact check: the field finds the maxima that are only references") {
  Variants plain;
  Derived d = derive(workload("attention"), plain);
  const LoopPlan p = plan_of(d);
  CHECK(unobserved_maxima(p) == std::vector<Expr>{maximum(p).value});
  Derived observed = derive(workload("statistics"), plain);
  CHECK(unobserved_maxima(plan_of(observed)).empty());
}

// Mistakes in how a state takes in a tile or other states: a move, an accumulator or a reference is left out.
void add_merge_mutants(const LoopPlan& plan, std::vector<LoopPlan>& all) {
  for (std::size_t pass = 0; pass < plan.states.size(); ++pass)
    for (std::size_t i = 0; i < plan.states[pass].steps.size(); ++i) {
      const UpdateStep& step = plan.states[pass].steps[i];
      const bool is_sum = step.kind == UpdateStep::Kind::accumulate &&
                          plan.accumulators[static_cast<std::size_t>(step.index)].combine == graph::Combine::sum;
      const auto without = [&](bool UpdateStep::* move) {
        if (!is_sum || !(step.*move)) return;
        LoopPlan mutant = plan;
        mutant.states[pass].steps[i].*move = false;
        all.push_back(std::move(mutant));
      };
      without(&UpdateStep::moves_by_exponent);
      without(&UpdateStep::moves_by_shifts);
      if (step.kind == UpdateStep::Kind::accumulate && !is_sum) continue;  // the field cannot represent maxima
      LoopPlan dropped = plan;
      dropped.states[pass].steps.erase(dropped.states[pass].steps.begin() + static_cast<std::ptrdiff_t>(i));
      all.push_back(std::move(dropped));
    }
}

// A plan with one mistake; none if the mistake would change nothing.
std::vector<LoopPlan> mutants(ExprBuilder& b, const LoopPlan& plan) {
  std::vector<LoopPlan> all;
  const auto keep_if_changed = [&](LoopPlan p, bool has_changed) {
    if (has_changed) all.push_back(std::move(p));
  };
  for (std::size_t r = 0; r < plan.reductions.size(); ++r) {
    if (!ir::is_float(plan.reductions[r].value->element)) continue;
    for (std::size_t t = 0; t < plan.reductions[r].terms.size(); ++t) {
      const Expr factor = plan.reductions[r].terms[t].factor;
      LoopPlan doubled = plan, squared = plan, dropped = plan, negated = plan, plain = plan;
      negated.reductions[r].terms[t].factor = b.scale(-1, factor);
      plain.reductions[r].terms[t].factor = b.one();
      keep_if_changed(std::move(negated), true);
      keep_if_changed(std::move(plain), factor != b.one());
      doubled.reductions[r].terms[t].factor = b.scale(2, factor);
      squared.reductions[r].terms[t].factor = b.product({factor, factor});
      dropped.reductions[r].terms.erase(dropped.reductions[r].terms.begin() + static_cast<std::ptrdiff_t>(t));
      keep_if_changed(std::move(doubled), true);
      keep_if_changed(std::move(squared), b.product({factor, factor}) != factor);
      keep_if_changed(std::move(dropped), true);
    }
  }
  for (std::size_t i = 0; i < plan.accumulators.size(); ++i) {
    const Accumulator& a = plan.accumulators[i];
    if (a.combine != graph::Combine::sum) continue;
    bool is_read = false;
    for (const Reduction& r : plan.reductions)
      for (const AccumulatorTerm& t : r.terms) is_read = is_read || t.accumulator == static_cast<int>(i);
    if (!is_read) continue;
    // A step that does not depend on the references is not a mistake.
    const std::vector<UpdateStep>& steps = plan.states[static_cast<std::size_t>(a.pass - 1)].steps;
    const auto step = std::find_if(steps.begin(), steps.end(), [&](const UpdateStep& s) {
      return s.kind == UpdateStep::Kind::accumulate && s.index == static_cast<int>(i);
    });
    LoopPlan doubled = plan, steeper = plan, opposite = plan, squared = plan;
    squared.accumulators[i].body = b.product({a.body, a.body});
    const bool is_idempotent = squared.accumulators[i].body == a.body;
    keep_if_changed(std::move(squared), !is_idempotent);
    doubled.accumulators[i].body = b.scale(2, a.body);
    steeper.accumulators[i].exponent = b.scale(2, a.exponent);
    opposite.accumulators[i].exponent = b.scale(-1, a.exponent);
    keep_if_changed(std::move(doubled), true);
    keep_if_changed(std::move(steeper), step->moves_by_exponent);
    keep_if_changed(std::move(opposite), step->moves_by_exponent);
    if (!step->moves_by_shifts) continue;
    for (std::size_t t = 0; t < a.move.size(); ++t) {
      LoopPlan turned = plan, dropped = plan;
      turned.accumulators[i].move[t].factor = b.scale(-1, a.move[t].factor);
      dropped.accumulators[i].move.erase(dropped.accumulators[i].move.begin() + static_cast<std::ptrdiff_t>(t));
      keep_if_changed(std::move(turned), true);
      keep_if_changed(std::move(dropped), a.move.size() > 1);
    }
  }
  add_merge_mutants(plan, all);
  return all;
}

TEST_CASE("exact check: every mutant of a plan is found") {
  int count = 0;
  for (const Workload& w : workloads()) {
    CAPTURE(w.name);
    Variants plain;
    Derived d = derive(w, plain);
    const LoopPlan p = plan_of(d);
    for (const LoopPlan& mutant : mutants(*d.exprs, p)) {
      ++count;
      CHECK_MESSAGE(!check_plan(*d.exprs, mutant, 1).exact, mutant.text());
    }
  }
  CHECK(count >= 500);
}

// sum over l of the extreme over k of |c| x, times g, where c is the sum of g over l: |c| leaves the extreme and the sum.
Derived factor_in_extreme(graph::Combine combine) {
  Derived d;
  graph::Graph& g = *d.graph;
  const Formula x = input(g, "x", {53, 7}), weight = input(g, "g", {53, 1}), c = abs(sum(weight, {0}));
  builder(g).output("y", sum(reduce(combine, x * c, {1}, true) * weight, {0}).id);
  translate_outputs(d);
  return d;
}

TEST_CASE("exact check: only a factor that is not negative leaves a maximum or minimum") {
  for (const graph::Combine combine : {graph::Combine::max, graph::Combine::min}) {
    CAPTURE(combine == graph::Combine::max);
    Derived d = factor_in_extreme(combine);
    ExprBuilder& b = *d.exprs;
    const LoopPlan plan = plan_over(d, "g0");
    INFO(plan.text());
    REQUIRE(plan.passes == 1);
    const Reduction& outer = plan.reductions.back();
    REQUIRE(outer.terms.size() == 1);
    const Expr magnitude = outer.terms[0].factor;
    REQUIRE(magnitude->is(ExprKind::function));
    CHECK(check_plan(b, plan).exact);
    const Expr c = magnitude->operands[0];
    // The plan is the same for a formula in which the factor is negative or has an unknown sign.
    for (const Expr other : {b.scale(-1, magnitude), c, b.add({c, b.one()}), b.product({c, b.add({c, b.one()})})}) {
      LoopPlan moved = plan;
      Reduction& r = moved.reductions.back();
      r.value = b.substitute(r.value, {{magnitude, other}});
      r.terms[0].factor = other;
      REQUIRE(r.value != outer.value);
      CAPTURE(moved.text());
      CHECK_FALSE(check_plan(b, moved, 1).exact);
    }
    // The same change is found for factors that are positive.
    for (const Expr other : {b.add({magnitude, b.one()}), b.product({c, c}), b.exp(c), b.scale(3, magnitude)}) {
      LoopPlan moved = plan;
      Reduction& r = moved.reductions.back();
      r.value = b.substitute(r.value, {{magnitude, other}});
      r.terms[0].factor = other;
      CAPTURE(moved.text());
      CHECK(check_plan(b, moved).exact);
    }
  }
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
