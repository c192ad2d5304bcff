// Guards of maxima that may be -inf: where they stand, and where other factors make them superfluous.
#include "passes/fusion/expr/hidden_maxima.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/unit/passes/fusion/expr/expr_fixture.h"

namespace tilewright::passes::fusion {
namespace {

using graph::Combine;

struct Fixture : ExprFixture {
  Expr x = data("x", {r, k}), y = data("y", {r, k}), v = data("v", {k});
  /// A condition on the data, and one that holds at the first key.
  Expr by_data = b.function(ir::OpKind::lt_, {x, y}, ir::Element::boolean, operand_bits(ir::Element::f32));
  Expr by_position = b.at_least_zero(b.subtract(b.index(r), b.index(k)));

  Expr masked(Expr condition, Expr value) { return b.select(condition, value, b.negative_infinity()); }
  Expr maximum(Expr value) { return b.reduce(Combine::max, {k}, value); }
  Expr bare_sum(Expr body) { return b.reduce(Combine::sum, {k}, body); }
  Expr sum(Expr body) { return guarded_sum(b, {k}, body, {}, body->element); }
  Expr weight(Expr scores) { return b.exp(b.subtract(scores, maximum(scores))); }
  bool has_guard(Expr e, Expr p) {
    const std::vector<Factor> all = b.factors(e);
    return std::any_of(all.begin(), all.end(), [&](const Factor& f) { return f.base == guard_of_maximum(b, p); });
  }
};

TEST_CASE_FIXTURE(Fixture, "hidden maxima: what is known of a maximum of masked values") {
  CHECK(maximum(x)->finite == Finite::for_finite_data);
  CHECK(maximum(masked(by_position, x))->finite == Finite::for_finite_data);
  const Expr hidden = maximum(masked(by_data, x));
  CHECK(hidden->finite == Finite::unless_hidden);
  CHECK(b.scale(-2, hidden)->finite == Finite::unless_hidden);
  CHECK(b.maximum(hidden, b.number(-30))->finite == Finite::for_finite_data);
  CHECK(b.minimum(hidden, b.number(30))->finite == Finite::unless_hidden);
  CHECK(b.maximum(b.scale(-1, hidden), b.number(-30))->finite == Finite::unless_hidden);
  CHECK(b.maximum(hidden, maximum(masked(by_data, y)))->finite == Finite::unless_hidden);
}

TEST_CASE_FIXTURE(Fixture, "hidden maxima: a mask that leaves an exponent leaves the guard of the maximum") {
  const Expr scores = masked(by_data, x), p = maximum(scores);
  const Expr bare = b.product({b.indicator(by_data), b.exp(b.subtract(x, p))});
  CHECK(weight(scores) == b.product({bare, guard_of_maximum(b, p)}));
  CHECK(b.exp(b.add({scores, p})) == b.product({b.indicator(by_data), b.exp(b.add({x, p}))}));
  // Somewhere the mask holds.
  const Expr causal = masked(by_position, x);
  CHECK(weight(causal) == b.product({b.indicator(by_position), b.exp(b.subtract(x, maximum(causal)))}));
  // A maximum of other values may be -inf where this mask holds: there, the exponential is not NaN.
  const Expr other = b.exp(b.subtract(scores, maximum(masked(b.negation(by_data), x))));
  CHECK(other->is(ExprKind::select));
  CHECK(!has_guard(other, p));
}

TEST_CASE_FIXTURE(Fixture, "hidden maxima: a quotient of sums of exponentials has no guard") {
  for (const Expr scores : {x, masked(by_data, x), masked(by_position, x)}) {
    const Expr p = maximum(scores), e = weight(scores), l = sum(e), o = sum(b.product({e, v}));
    CHECK(has_guard(l, p));
    CHECK(has_guard(o, p));
    CHECK(!has_guard(b.divide(e, l), p));
    CHECK(!has_guard(b.divide(o, l), p));
    CHECK(!has_guard(sum(b.divide(b.product({e, v}), l)), p));
    CHECK(has_guard(b.power(l, -1), p));
    CHECK(has_guard(b.product({b.divide(o, l), b.power(o, -1)}), p));
    // Another sum is not 0 where p is -inf.
    CHECK(has_guard(b.divide(l, b.reduce(Combine::sum, {k}, b.exp(v))), p));
  }
}

TEST_CASE_FIXTURE(Fixture, "hidden maxima: the guard of a sum under a mask stands where the exponentials do") {
  const Expr hidden = b.function(ir::OpKind::lt_, {y, v}, ir::Element::boolean, operand_bits(ir::Element::f32)), row = data("row", {r});
  const Expr by_row = b.function(ir::OpKind::lt_, {row, b.one()}, ir::Element::boolean, operand_bits(ir::Element::f32));
  const auto hide = [&](Expr condition, Expr e) { return b.select(condition, e, b.zero()); };
  // The same mask stands outside, too: the values that it hides are 0, as written.
  const Expr scores = masked(by_data, x), same = hide(by_data, weight(scores));
  CHECK(same == b.product({b.indicator(by_data), b.exp(b.subtract(x, maximum(scores)))}));
  CHECK(sum(same) == bare_sum(same));
  // A maximum that may be -inf for finite data, since its elements are masks times data.
  const Expr scaled = b.product({scores, row}), e = weight(scaled), guard = guard_of_maximum(b, maximum(scaled));
  const auto guard_under = [&](Expr condition) { return b.select(condition, guard, b.one()); };
  CHECK(sum(hide(by_row, e)) == b.product({guard_under(by_row), bare_sum(hide(by_row, e))}));
  CHECK(sum(hide(hidden, e)) == bare_sum(b.product({guard_under(hidden), hide(hidden, e)})));
  CHECK(sum(hide(by_position, e)) == b.product({guard, bare_sum(hide(by_position, e))}));
  // One that is -inf only if data are.
  for (const Expr condition : {by_row, hidden}) CHECK(sum(hide(condition, weight(x))) == bare_sum(hide(condition, weight(x))));
}

TEST_CASE_FIXTURE(Fixture, "hidden maxima: of maxima and masked values") {
  const Expr scores = masked(by_data, x), sink = masked(b.negation(by_data), v), rows = maximum(scores),
             both = b.maximum(rows, maximum(sink));
  CHECK(hidden_maximum(b, both) == both);
  CHECK(hidden_maximum(b, b.maximum(rows, sink)) != std::nullopt);
  CHECK(hidden_maximum(b, b.maximum(b.scale(2, rows), b.scale(3, sink))) != std::nullopt);
  CHECK(hidden_maximum(b, b.maximum(rows, v)) == std::nullopt);
  CHECK(hidden_maximum(b, b.maximum(rows, b.scale(-1, sink))) == std::nullopt);
  CHECK(hidden_maximum(b, sink) == std::nullopt);
}

TEST_CASE_FIXTURE(Fixture, "hidden maxima: a value that hides itself where a condition holds is masked") {
  CHECK(b.select(by_data, b.negative_infinity(), x) == b.select(b.negation(by_data), x, b.negative_infinity()));
  CHECK(is_masked(b.select(by_data, b.negative_infinity(), x)));
  CHECK(is_masked(b.select(by_position, b.negative_infinity(), x)));
  CHECK(b.select(b.negation(by_data), b.negative_infinity(), x) == masked(by_data, x));
}

TEST_CASE_FIXTURE(Fixture, "hidden maxima: the logarithm of a sum of exponentials") {
  const auto bare = [&](Expr scores) { return b.reduce(Combine::sum, {k}, b.exp(b.subtract(scores, maximum(scores)))); };
  CHECK(b.log(sum(weight(x))) == b.log(bare(x)));
  const Expr scores = masked(by_data, x), p = maximum(scores), l = sum(weight(scores));
  CHECK(has_guard(b.log(l), p));
  CHECK(b.exp(b.subtract(b.subtract(scores, p), b.log(l))) == b.divide(weight(scores), l));
}

}  // namespace
}  // namespace tilewright::passes::fusion
