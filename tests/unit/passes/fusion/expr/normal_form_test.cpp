// The rules of the normal form: formulas of one meaning are one object.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>

#include "passes/fusion/expr/expr_text.h"
#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/hidden_maxima.h"
#include "passes/fusion/expr/integer_range.h"
#include "passes/fusion/expr/normal_form.h"
#include "tests/unit/passes/fusion/derive.h"
#include "tests/unit/passes/fusion/expr/expr_fixture.h"

namespace tilewright::passes::fusion {
namespace {

struct Fixture : ExprFixture {
  Expr x = data("x", {k}), y = data("y", {k}), z = data("z", {r});
  Expr mask = b.at_least_zero(b.subtract(b.index(k), b.number(3)));
};

TEST_CASE_FIXTURE(Fixture, "normal form: sums and products have one order") {
  CHECK(b.add({x, y}) == b.add({y, x}));
  CHECK(b.product({x, b.product({y, z})}) == b.product({b.product({z, x}), y}));
  CHECK(b.subtract(b.add({x, y, y}), y) == b.add({x, y}));
  CHECK(b.add({x, y}) != b.subtract(x, y));
}

TEST_CASE_FIXTURE(Fixture, "normal form: divisions and roots are powers") {
  CHECK(b.divide(x, y) == b.product({x, b.power(y, -1)}));
  CHECK(b.power(b.power(b.exp(x), Rational(1, 2)), 2) == b.exp(x));
  CHECK(b.power(b.product({x, x}), Rational(1, 2)) == b.absolute(x));
  CHECK(b.power(b.product({x, x}), Rational(1, 2)) != x);
}

TEST_CASE_FIXTURE(Fixture, "normal form: roots of numbers are exact") {
  const Expr root = b.power(b.number(96), Rational(1, 2));
  CHECK(root == b.product({b.number(4), b.power(b.number(6), Rational(1, 2))}));
  CHECK(b.product({root, root}) == b.number(96));
  CHECK(b.power(b.number(Rational(1, 4)), Rational(-1, 2)) == b.number(2));
}

TEST_CASE_FIXTURE(Fixture, "normal form: numbers go into sums and to the front of products") {
  CHECK(b.scale(3, b.add({x, y})) == b.add({b.scale(3, x), b.scale(3, y)}));
  CHECK(b.product({b.number(2), x, b.number(Rational(1, 2))}) == x);
}

TEST_CASE_FIXTURE(Fixture, "normal form: exponentials and logarithms") {
  CHECK(b.product({b.exp(x), b.exp(x)}) == b.exp(b.scale(2, x)));
  CHECK(b.product({b.exp(x), b.exp(y)}) != b.exp(b.add({x, y})));
  CHECK(b.exp(b.subtract(x, y)) != b.divide(b.exp(x), b.exp(y)));
  CHECK(b.exp(b.subtract(x, b.log(b.exp(y)))) == b.exp(b.subtract(x, y)));
  const Expr positive = b.exp(x);
  CHECK(b.exp(b.scale(2, b.log(b.add({positive, b.one()})))) == b.power(b.add({positive, b.one()}), 2));
  CHECK(b.log(b.product({b.number(2), positive})) == b.add({x, b.log(b.number(2))}));
}

TEST_CASE_FIXTURE(Fixture, "normal form: what lacks the axis leaves a reduction") {
  using graph::Combine;
  CHECK(b.reduce(Combine::sum, {k}, b.product({x, z})) == b.product({z, b.reduce(Combine::sum, {k}, x)}));
  CHECK(b.reduce(Combine::sum, {k}, z) == b.scale(53, z));
  CHECK(b.reduce(Combine::max, {k}, b.scale(3, x)) == b.scale(3, b.reduce(Combine::max, {k}, x)));
  CHECK(b.reduce(Combine::min, {k}, x) == b.scale(-1, b.reduce(Combine::max, {k}, b.scale(-1, x))));
}

TEST_CASE_FIXTURE(Fixture, "normal form: what leaves a sum keeps its range") {
  using graph::Combine;
  const Expr tiny = b.number(Rational(1, std::int64_t{1} << 60));
  const auto sum = [&](std::initializer_list<Expr> factors, ir::Element operands = ir::Element::f32) {
    return b.reduce(Combine::sum, {k}, b.product(factors), operands);
  };
  CHECK(sum({tiny, x})->is(ExprKind::reduce));
  CHECK(sum({x, x, z})->is(ExprKind::reduce));
  CHECK(sum({x, b.power(y, -1), z})->is(ExprKind::reduce));
  CHECK(sum({x, y, z}) == b.product({z, sum({x, y})}));
  CHECK(sum({x, x, b.number(3)}) == b.product({b.number(3), sum({x, x})}));
  // In f16, x alone may overflow: it is a valid number only with its scale z.
  CHECK(sum({x, y, z}, ir::Element::f16)->is(ExprKind::reduce));
}

TEST_CASE_FIXTURE(Fixture, "normal form: exponentials of logarithms are powers where that keeps their range") {
  using graph::Combine;
  const Expr e = b.exp(b.subtract(x, b.reduce(Combine::max, {k}, x))), total = b.reduce(Combine::sum, {k}, e);
  CHECK(b.exp(b.subtract(b.subtract(x, b.reduce(Combine::max, {k}, x)), b.log(total))) == b.divide(e, total));
  const Expr plain = b.reduce(Combine::sum, {k}, b.exp(x));
  CHECK(b.exp(b.subtract(x, b.log(plain))) == b.divide(b.exp(x), plain));
  CHECK(b.exp(b.subtract(y, b.log(plain)))->is(ExprKind::exp));
  const Expr positive = b.exp(z);
  CHECK(b.exp(b.add({b.scale(199, b.log(b.add({positive, b.one()}))), b.scale(299, b.log(b.add({positive, b.number(2)})))}))
            ->is(ExprKind::exp));
}

TEST_CASE_FIXTURE(Fixture, "normal form: nested reductions of one kind are one") {
  using graph::Combine;
  const Expr both = b.exp(b.add({x, z}));
  CHECK(b.reduce(Combine::sum, {r}, b.reduce(Combine::sum, {k}, both)) == b.reduce(Combine::sum, {k, r}, both));
}

TEST_CASE_FIXTURE(Fixture, "normal form: masks") {
  const Expr masked = b.select(mask, x, b.negative_infinity());
  CHECK(b.add({x, b.select(mask, b.zero(), b.negative_infinity())}) == masked);
  CHECK(b.exp(masked) == b.product({b.exp(x), b.indicator(mask)}));
  CHECK(b.product({b.indicator(mask), b.indicator(mask)}) == b.indicator(mask));
  CHECK(b.select(mask, x, b.zero()) == b.product({x, b.indicator(mask)}));
  CHECK(b.product({b.indicator(mask), b.select(mask, x, y)}) == b.product({b.indicator(mask), x}));
  CHECK(b.select(mask, b.zero(), x) == b.product({x, b.indicator(b.negation(mask))}));
}

TEST_CASE_FIXTURE(Fixture, "normal form: each condition of a mask is a factor") {
  const Expr own = b.at_least_zero(b.subtract(b.index(r), b.number(1)));
  const Expr both = b.conjunction({mask, own});
  CHECK(b.indicator(both) == b.product({b.indicator(mask), b.indicator(own)}));
  const Expr masked = b.select(both, x, b.zero());
  CHECK(b.with_plain_masks(masked, {k}) == b.product({x, b.indicator(mask), b.indicator(own)}));
  CHECK(b.factors(masked).size() == 3);
  CHECK(b.factors(b.indicator(both)).size() == 2);
  CHECK(b.product({b.indicator(both), b.indicator(mask)}) == b.indicator(both));
  CHECK(b.product({b.indicator(both), b.select(mask, x, y)}) == b.product({b.indicator(both), x}));
  // A sum keeps all of its masks, or none.
  const Expr sum = b.reduce(graph::Combine::sum, {k}, b.product({x, b.indicator(both)}));
  CHECK(sum->is(ExprKind::reduce));
  CHECK(b.reduce(graph::Combine::sum, {k}, b.product({x, b.indicator(own)})) ==
        b.product({b.indicator(own), b.reduce(graph::Combine::sum, {k}, x)}));
}

TEST_CASE_FIXTURE(Fixture, "normal form: what may be 0, infinite or negative does not cancel") {
  const Expr number = b.extent(Dim(7)), position = b.indicator(mask), root = b.power(x, Rational(1, 2));
  CHECK(b.subtract(x, x) == b.scale(0, x));
  CHECK(b.scale(0, x) != b.zero());
  CHECK(b.subtract(b.add({x, y}), y) == b.add({x, b.scale(0, y)}));
  CHECK(b.subtract(position, position) == b.zero());
  CHECK(b.scale(0, number) == b.zero());
  CHECK(is_guard(b.divide(x, x)));
  CHECK(b.divide(b.product({x, x}), x) == b.product({x, b.divide(x, x)}));
  CHECK(b.product({b.divide(x, x), b.divide(x, x)}) == b.divide(x, x));
  CHECK(b.divide(b.one(), b.divide(b.one(), x)) == x);
  CHECK(b.product({root, root}) != x);
  CHECK(b.power(root, 2) == b.product({root, root}));
  CHECK(b.power(b.power(b.exp(x), Rational(1, 2)), 2) == b.exp(x));
  CHECK(b.exp(b.log(x)) != x);
  CHECK(b.exp(b.log(b.absolute(x))) == b.absolute(x));
  CHECK(b.log(b.exp(x)) == x);
  CHECK(b.log(root) == b.scale(Rational(1, 2), b.log(x)));
  CHECK(b.log(b.product({x, x})) == b.scale(2, b.log(b.absolute(x))));
}

TEST_CASE_FIXTURE(Fixture, "normal form: a mask hides what is a number, and nothing else") {
  const Expr inverse = b.power(y, -1);
  CHECK(b.select(mask, inverse, b.zero())->is(ExprKind::select));
  CHECK(b.select(mask, b.product({x, b.exp(y)}), b.zero()) == b.product({x, b.exp(y), b.indicator(mask)}));
  const Expr masked = b.product({x, b.indicator(mask)});
  CHECK(b.divide(masked, masked) != b.divide(x, x));
  // -inf does not hide a NaN beside it.
  const Expr additive = b.select(mask, x, b.negative_infinity());
  CHECK(b.add({additive, inverse})->is(ExprKind::add));
  CHECK(b.add({additive, y}) == b.select(mask, b.add({x, y}), b.negative_infinity()));
  const Expr guarded = b.product({b.zero(), guard_of_infinity(b, inverse)});
  CHECK(b.exp(b.add({additive, inverse})) == b.select(mask, b.exp(b.add({inverse, x})), guarded));
}

TEST_CASE_FIXTURE(Fixture, "normal form: a sum in a product has a leading coefficient of 1") {
  const Expr sum = b.add({b.scale(2, x), b.scale(4, y)});
  CHECK(b.product({sum, z}) == b.product({b.number(2), b.scale(Rational(1, 2), sum), z}));
  const Expr tenth = b.add({b.scale(Rational(1, 10), x), y});
  CHECK(b.product({tenth, z}) == b.product({b.number(3), b.scale(Rational(1, 3), tenth), z}));
}

TEST_CASE_FIXTURE(Fixture, "normal form: small integers in a sum remain integers") {
  const auto coefficients = [&](Expr e) {
    std::vector<Rational> all;
    for (const Term& t : e->terms) all.push_back(t.coefficient);
    std::sort(all.begin(), all.end());
    return all;
  };
  for (const Rational& scale : {Rational(1), Rational(6), Rational(-5), Rational(3, 8)}) {
    const Expr sum = b.scale(scale, b.add({b.scale(3, x), b.scale(5, y)}));
    const std::vector<Factor> factors = b.factors(b.product({sum, z}));
    const auto in_product = std::find_if(factors.begin(), factors.end(), [](const Factor& f) { return f.base->is(ExprKind::add); });
    REQUIRE(in_product != factors.end());
    CHECK(coefficients(in_product->base) == std::vector<Rational>{3, 5});
    const Expr reduced = b.reduce(graph::Combine::sum, {k}, sum);
    CHECK(b.split_coefficient(reduced).coefficient == scale);
    CHECK(coefficients(b.split_coefficient(reduced).value->operands[0]) == std::vector<Rational>{3, 5});
  }
}

TEST_CASE_FIXTURE(Fixture, "normal form: substitution rebuilds what holds the value") {
  const Expr product = b.product({x, y}), whole = b.product({x, y, b.exp(z)});
  CHECK(b.substitute(whole, {{product, z}}) == b.product({z, b.exp(z)}));
  CHECK(b.substitute(b.exp(b.add({x, y})), {{y, b.scale(-2, x)}}) == b.exp(b.scale(-1, x)));
}

// The value and what a plan makes of it are compared: both must be the same functions.
TEST_CASE("normal form: as written, substitution keeps functions as they are") {
  ExprPool pool;
  ExprBuilder b(pool, Rewriting::none);
  const Axis k = pool.axis("k", 5), other = pool.axis("k'", 5);
  for (const ir::Element e : {ir::Element::f32, ir::Element::f64}) {
    TensorInfo info;
    info.name = ir::text(e);
    info.element = e;
    info.shape = {Dim(5)};
    info.strides = {1};
    const Tensor tensor = pool.add_tensor(std::move(info));
    for (const ir::OpKind op : {ir::OpKind::maximum_, ir::OpKind::minimum_, ir::OpKind::sub_, ir::OpKind::abs_, ir::OpKind::tanh_}) {
      const auto at = [&](Axis a) {
        const Expr x = b.load(tensor, {b.index(a)});
        return b.function(op, std::vector<Expr>(op == ir::OpKind::abs_ || op == ir::OpKind::tanh_ ? 1 : 2, x), e);
      };
      CHECK(b.substitute(at(k), {{b.index(k), b.index(other)}}) == at(other));
    }
    CHECK(b.reduce(graph::Combine::sum, {k}, b.zero(), e, e) == b.zero());
  }
}

TEST_CASE_FIXTURE(Fixture, "integer range: bounds of positions decide masks") {
  const Expr difference = b.subtract(b.index(k), b.index(r));
  CHECK(integer_range(difference).least == -6);
  CHECK(integer_range(difference).greatest == 52);
  CHECK(holds(b.at_least_zero(difference), {{k, {10, 20}}}) == true);
  CHECK(holds(b.at_least_zero(difference), {{k, {0, 2}}, {r, {3, 6}}}) == false);
  CHECK(holds(b.at_least_zero(difference)) == std::nullopt);
}

TEST_CASE_FIXTURE(Fixture, "integer range: a condition bounds what it chooses") {
  const auto rotated = [&](const Dim& extent, Expr offset) {
    const Expr from = b.subtract(b.index(pool.axis("wrapped " + extent.text(), extent)), offset);
    return b.select(b.at_least_zero(from), from, b.add({from, b.extent(extent)}), ir::Element::i64);
  };
  const Range constant = integer_range(rotated(20, b.number(7)));
  CHECK(constant.least == 0);
  CHECK(constant.greatest == 19);
  CHECK(stays_inside(rotated(20, b.number(7)), 20));
  CHECK_FALSE(stays_inside(rotated(20, b.number(21)), 20));
  const auto symbols = std::make_shared<SymbolTable>();
  const Dim n = symbols->add("n", {.min = 3}, {});
  CHECK(fits(integer_range(rotated(n, b.extent(n - Dim(3)))), ir::Element::i32));
}

TEST_CASE("intended fraction: constants that people write") {
  CHECK(ir::intended_fraction(1.0f / 53) == Rational(1, 53));
  CHECK(ir::intended_fraction(-0.1f) == Rational(-1, 10));
  CHECK(ir::intended_fraction(1e-6f) == Rational(1, 1000000));
  CHECK(ir::intended_fraction(0.70710678f) == std::nullopt);
}

// So substitute() returns a sum or a product of which no part has changed as it is.
TEST_CASE("normal form: a sum of the terms of a sum, and a product of the factors of a product, are these again") {
  std::size_t compared = 0;
  for (const test::Workload& w : test::workloads()) {
    CAPTURE(w.name);
    test::Variants variants;
    test::Derived d = test::derive(w, variants);
    ExprSet seen;
    std::vector<Expr> all;
    for (const KernelOutput& o : d.outputs) walk(o.value, seen, [&](Expr e) { all.push_back(e); });
    for (Expr e : all) {
      if (e->is(ExprKind::mul)) CHECK(d.exprs->multiply(e->number, e->factors) == e);
      if (e->is(ExprKind::add)) CHECK(d.exprs->add_terms(e->terms) == e);
      CHECK(d.exprs->substitute(e, {}) == e);
      ++compared;
    }
  }
  CHECK(compared > 700);
}

}  // namespace
}  // namespace tilewright::passes::fusion
