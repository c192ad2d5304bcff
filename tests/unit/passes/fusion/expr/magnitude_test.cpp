// Bounds of values that share parts at many levels: each part is visited once.
#include "passes/fusion/expr/magnitude.h"

#include <algorithm>

#include <doctest/doctest.h>

namespace tilewright::passes::fusion {
namespace {

// Walked once for each way that leads to it, a part at the bottom would be visited 2^kLevels times.
constexpr int kLevels = 100;

struct Fixture {
  ExprPool pool;
  ExprBuilder b{pool};
  Axis k = pool.axis("k", 53);

  Expr data(const char* name, ir::Element element = ir::Element::f32) {
    TensorInfo info;
    info.name = name;
    info.element = element;
    info.shape = {k->extent};
    info.strides = {1};
    return b.load(pool.add_tensor(std::move(info)), {b.index(k)});
  }
  Expr maximum_of(Expr x) { return b.reduce(graph::Combine::max, {k}, x); }
  Expr x = data("x"), y = data("y"), z = data("z");

  // max(a, 2 c), max(a, c) and so on from a, c.
  Expr nested(Expr a, Expr c) {
    for (int i = 0; i < kLevels; ++i) {
      const Expr next = b.maximum(a, b.scale(2, c));
      c = b.maximum(a, c);
      a = next;
    }
    return a;
  }
};

TEST_CASE_FIXTURE(Fixture, "magnitude: nested maxima that share operands are bounds of what they are chosen from") {
  const Expr all = nested(x, y);
  CHECK(is_at_most(b, x, all));
  CHECK(is_at_most(b, x, maximum_of(all)));
  CHECK(!is_at_most(b, z, all));
  CHECK(!is_at_most(b, b.scale(3, x), all));
}

TEST_CASE_FIXTURE(Fixture, "magnitude: nested maxima that share operands are values that were chosen") {
  const Expr all = nested(maximum_of(x), maximum_of(y));
  CHECK(is_extreme(b, all));
  CHECK(is_extreme(b, b.add({all, maximum_of(z)})));
  CHECK(!is_extreme(b, b.add({all, z})));
  CHECK(!is_extreme(b, b.absolute(nested(x, y))));
}

TEST_CASE_FIXTURE(Fixture, "magnitude: the values from which nested maxima are chosen, and their factors") {
  const std::vector<Multiple> all = values_of_maximum(b, nested(maximum_of(x), maximum_of(y)));
  const auto has = [&](const Rational& factor, Expr value) {
    return std::count_if(all.begin(), all.end(), [&](const Multiple& m) { return m.value == value && m.factor == factor; }) == 1;
  };
  CHECK(has(1, x));
  CHECK(has(2, y));
  CHECK(std::none_of(all.begin(), all.end(), [&](const Multiple& m) { return m.value == z; }));
}

TEST_CASE_FIXTURE(Fixture, "magnitude: products that share factors fit an operand if the data does") {
  for (const ir::Element element : {ir::Element::f16, ir::Element::f32}) {
    Expr t = data(element == ir::Element::f16 ? "narrow" : "wide", element);
    for (int i = 0; i < kLevels; ++i) t = b.product({t, b.absolute(b.subtract(b.one(), t))});
    CHECK(fits_operand(b, t, ir::Element::f16) == (element == ir::Element::f16));
  }
}

}  // namespace
}  // namespace tilewright::passes::fusion
