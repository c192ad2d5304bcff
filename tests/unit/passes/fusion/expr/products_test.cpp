// The operands into which the factors of products are divided.
#include "passes/fusion/expr/products.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace tilewright::passes::fusion {
namespace {

struct Fixture {
  ExprPool pool;
  ExprBuilder b{pool};
  Axis batch = pool.axis("b", 3), k = pool.axis("k", 53), m = pool.axis("m", 17), n = pool.axis("n", 19);

  Factor data(const char* name, std::initializer_list<Axis> axes) {
    TensorInfo info;
    info.name = name;
    info.element = ir::Element::f32;
    std::vector<Expr> index;
    for (Axis a : axes) {
      info.shape.push_back(a->extent);
      info.strides.push_back(1);
      index.push_back(b.index(a));
    }
    return {b.load(pool.add_tensor(std::move(info)), std::move(index)), 1};
  }
  Factor x = data("x", {m, k}), g = data("g", {k}), w = data("w", {k, n}), s = data("s", {n}), t = data("t", {m, n});
};

void check(const Operands& found, const std::vector<std::pair<AxisSet, std::vector<Factor>>>& operands, const std::vector<Factor>& common) {
  REQUIRE(found.operands.size() == operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    CHECK(found.operands[i].axes == operands[i].first);
    CHECK(found.operands[i].factors == operands[i].second);
  }
  CHECK(found.common == common);
}

TEST_CASE_FIXTURE(Fixture, "products: factors with an axis of the result in common are one operand") {
  check(operands_of({x, g, w, s}, {k}), {{{m}, {x}}, {{n}, {s, w}}}, {g});
  check(operands_of({x, w}, {k}), {{{m}, {x}}, {{n}, {w}}}, {});
  check(operands_of({x, w, t}, {k}), {{{m, n}, {t, x, w}}}, {});
  check(operands_of({g}, {k}), {}, {g});
}

TEST_CASE_FIXTURE(Fixture, "products: axes that do not count leave a factor to any operand") {
  const auto is_m = [&](Axis a) { return a == m; };
  check(operands_of({x, g, w, s}, {k}, is_m), {{{m}, {x}}}, {g, w, s});
  check(operands_of({x, w, t}, {k}, is_m), {{{m}, {t, x}}}, {w});
}

TEST_CASE_FIXTURE(Fixture, "products: a batch connects factors unless it is set apart") {
  const Factor q = data("q", {batch, m, k}), v = data("v", {batch, k, n}), scale = data("scale", {batch});
  CHECK(batch_axes({q, v, scale}, {k}) == AxisSet{batch});
  CHECK(batch_axes({q, w}, {k}).empty());
  check(operands_of({q, v}, {k}), {{{batch, m, n}, {v, q}}}, {});
  check(operands_of({q, v, scale}, {k}, nullptr, {batch}), {{{batch, m}, {q}}, {{batch, n}, {v}}, {{batch}, {scale}}}, {});
}

TEST_CASE_FIXTURE(Fixture, "products: factors that lack different axes of the result are multiplied") {
  CHECK(is_product({x, w}, {k}));
  CHECK(is_product({x, g, w, s}, {k}));
  CHECK(!is_product({x, g}, {k}));
  CHECK(!is_product({x, s}, {k}));
  CHECK(!is_product({x, t}, {k}));
  CHECK(!is_product({s, t}, {k}));
  CHECK(!is_product({x, w, data("of_all", {m, k, n})}, {k}));
}

TEST_CASE_FIXTURE(Fixture, "products: a mask is with what it hides") {
  const Expr is_seen = b.at_least_zero(b.add({b.index(k), b.number(-1)})), of_both = b.at_least_zero(b.subtract(b.index(m), b.index(k)));
  const auto placed = [&](Expr product) {
    PlacedFactors found = placed_factors(operands_of(b.factors(product), {k}), b);
    const auto has_x = [&](const std::vector<Factor>& all) { return std::find(all.begin(), all.end(), x) != all.end(); };
    if (has_x(found.factors[1])) {
      std::swap(found.factors[0], found.factors[1]);
      std::swap(found.guards[0], found.guards[1]);
    }
    return found;
  };
  const auto has = [&](const std::vector<Factor>& all, Expr condition) {
    return std::find(all.begin(), all.end(), Factor{b.indicator(condition), 1}) != all.end();
  };
  const PlacedFactors right = placed(b.product({x.base, b.select(is_seen, w.base, b.zero())}));
  CHECK(right.factors[0] == std::vector<Factor>{x});
  CHECK(has(right.factors[1], is_seen));
  const PlacedFactors left = placed(b.product({b.select(is_seen, x.base, b.zero()), w.base}));
  CHECK(has(left.factors[0], is_seen));
  CHECK(left.factors[1] == std::vector<Factor>{w});
  const PlacedFactors both = placed(b.select(is_seen, b.product({x.base, w.base}), b.zero()));
  CHECK(has(both.factors[0], is_seen));
  CHECK(has(both.factors[1], is_seen));
  // A mask of one operand's axes guards the other one only where it was written over it.
  const PlacedFactors apart = placed(b.product({b.select(of_both, x.base, b.zero()), w.base}));
  CHECK(apart.guards[0].empty());
  const PlacedFactors over = placed(b.select(of_both, b.product({x.base, w.base}), b.zero()));
  CHECK(has(over.factors[0], of_both));
  CHECK(has(over.guards[0], of_both));
  CHECK(over.guards[1].empty());
}

TEST_CASE_FIXTURE(Fixture, "products: what a mask hides is kept where axes are renamed and forgotten where it does not matter") {
  const Expr is_seen = b.at_least_zero(b.add({b.index(k), b.number(-1)}));
  const Axis other = pool.axis("other", 19);
  const Expr product = b.product({x.base, b.select(is_seen, w.base, b.zero())});
  const Expr renamed = b.substitute(product, {{b.index(n), b.index(other)}});
  const auto of_mask = [&](Expr e) {
    for (const Factor& f : b.factors(e))
      if (f.base->is(ExprKind::indicator)) return f.base->hides;
    return AxisSet();
  };
  CHECK(of_mask(product) == AxisSet{k, n});
  CHECK(of_mask(renamed) == AxisSet{k, other});
  CHECK(b.reduce(graph::Combine::sum, {k}, b.select(is_seen, w.base, b.zero())) ==
        b.reduce(graph::Combine::sum, {k}, b.product({w.base, b.indicator(is_seen)})));
}

}  // namespace
}  // namespace tilewright::passes::fusion
