// The operands into which the factors of products are divided.
#include "passes/fusion/expr/products.h"

#include <doctest/doctest.h>

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

}  // namespace
}  // namespace tilewright::passes::fusion
