// Bounds of rounding errors: their numbers, and that kernels stay within them.
#include <doctest/doctest.h>

#include "passes/fusion/report/error_bound.h"
#include "passes/fusion/tiles/choose_tiles.h"
#include "tests/unit/passes/fusion/derive.h"

namespace tilewright::passes::fusion::test {
namespace {

constexpr int kLong = 1000;

// One number each, of terms that are not negative: an error relative to the sum of |terms| is one relative to the result.
Derived sum_of_squares() {
  Derived d;
  const Formula x = input(*d.graph, "x", {kLong});
  builder(*d.graph).output("y", sum(square(x), {0}, false).id);
  translate_outputs(d);
  return d;
}
Derived sum_of_exponentials() {
  Derived d;
  const Formula x = input(*d.graph, "x", {kLong});
  builder(*d.graph).output("y", sum(exp(x - max(x, {0})), {0}, false).id);
  translate_outputs(d);
  return d;
}
Derived weighted_squares() {
  Derived d;
  const Formula x = input(*d.graph, "x", {kLong}), v = input(*d.graph, "v", {kLong});
  const Formula e = exp(x - max(x, {0}));
  builder(*d.graph).output("y", (sum(e * square(v), {0}, false) / sum(e, {0}, false)).id);
  translate_outputs(d);
  return d;
}

// The terms are nearly equal, so the roundings of most additions have the same sign.
Derived product_of_equal_numbers() {
  Derived d;
  const Formula x = input(*d.graph, "x", {4, kLong}), w = input(*d.graph, "w", {kLong, 4});
  const auto equal = [](Formula f, double number) { return f * 1e-12 + number; };
  builder(*d.graph).output("y", einsum("ij,jk->ik", {equal(x, 0.3), equal(w, 0.7)}).id);
  translate_outputs(d);
  return d;
}

TEST_CASE("fusion error bound: extents of other axes than the loop's, which are symbols") {
  Derived d;
  const Dim n = d.graph->symbols()->add("n", {}, {"test.cpp", 1, 0});
  const Formula x = input(*d.graph, "x", {n, 4, 3});
  builder(*d.graph).output("y", sum(x, {0, 1}, false).id);
  translate_outputs(d);
  const LoopPlan plan = plan_of(d);
  TileSizes sizes = choose_tiles(plan, *d.exprs, {});
  for (const std::int64_t tile : {1, 4}) {
    CAPTURE(tile);
    sizes.loop = tile;
    const std::string text = error_text(plan, sum_bounds(*d.exprs, plan, sizes, 1));
    const bool is_symbol = !plan.loop->extent.is_constant();
    CHECK(text.starts_with(is_symbol ? (tile == 1 ? "|error of r0| <= (n + 4) u" : "|error of r0| <= (n / 4 + 16) u")
                                     : (tile == 1 ? "|error of r0| <= (n + 4) u" : "|error of r0| <= (4 n + 1) u")));
  }
}

TEST_CASE("fusion error bound: a tile, then one addition for each tile and part") {
  Derived d = sum_of_exponentials();
  const LoopPlan plan = plan_of(d);
  TileSizes sizes = choose_tiles(plan, *d.exprs, {});
  sizes.loop = 16;
  const std::vector<SumBound> whole = sum_bounds(*d.exprs, plan, sizes, 1), parts = sum_bounds(*d.exprs, plan, sizes, 8);
  REQUIRE(whole.size() == 1);
  CHECK(whole[0].additions(kLong) == 63 + 16);
  CHECK(whole[0].reference_changes(kLong) == 63);
  CHECK(parts[0].additions(kLong) == 8 + 16 + 8);
  CHECK(parts[0].reference_changes(kLong) == 8 + 1);
  CHECK(error_text(plan, whole) == "|error of r1| <= 79 u sum|terms| + 63 (u + e) |r1|; unfused 80 u sum|terms|; u = 2^-24, e = 2^-22\n");
  const std::vector<SumBound> twice = {whole[0], whole[0]};
  CHECK(error_text(plan, twice) ==
        "|error of r1, r1| <= 79 u sum|terms| + 63 (u + e) |sum|; unfused 80 u sum|terms|; u = 2^-24, e = 2^-22\n");
  Derived squares = sum_of_squares();
  CHECK(sum_bounds(*squares.exprs, plan_of(squares), sizes, 1)[0].reference_changes(kLong) == 0);
}

TEST_CASE("fusion error bound: a product adds its terms one by one") {
  Derived d = product_of_equal_numbers();
  const LoopPlan plan = plan_of(d);
  TileSizes sizes = choose_tiles(plan, *d.exprs, {});
  sizes.loop = 16;
  const std::vector<SumBound> whole = sum_bounds(*d.exprs, plan, sizes, 1), parts = sum_bounds(*d.exprs, plan, sizes, 8);
  REQUIRE(whole.size() == 1);
  CHECK(whole[0].additions(kLong) == kLong);
  CHECK(parts[0].additions(kLong) == 125 + 16 + 8);
  CHECK(error_text(plan, whole) == "|error of r0| <= 1000 u sum|terms|; unfused 1001 u sum|terms|; u = 2^-24\n");
}

TEST_CASE("fusion error bound: a product along a symbol") {
  Derived d;
  const Dim n = d.graph->symbols()->add("n", {}, {"test.cpp", 1, 0});
  const Formula x = input(*d.graph, "x", {n, 8}), w = input(*d.graph, "w", {n, 8});
  builder(*d.graph).output("y", einsum("na,nb->ab", {x, w}).id);
  translate_outputs(d);
  const LoopPlan plan = plan_of(d);
  TileSizes sizes = choose_tiles(plan, *d.exprs, {});
  sizes.loop = 2;
  CHECK(error_text(plan, sum_bounds(*d.exprs, plan, sizes, 1)).starts_with("|error of r0| <= (n) u sum|terms|; unfused (n + 1) u"));
  CHECK(error_text(plan, sum_bounds(*d.exprs, plan, sizes, 4)).starts_with("|error of r0| <= (n / 4 + 6) u sum|terms|;"));
}

// The sum of squares is that of the squares from an estimate of the mean, and two terms that correct it.
TEST_CASE("fusion error bound: a sum that is taken apart counts the terms of its parts") {
  Derived d;
  const Formula x = input(*d.graph, "x", {kLong});
  builder(*d.graph).output("y", sum(square(x - sum(x, {0}) / double(kLong)), {0}, false).id);
  translate_outputs(d);
  const LoopPlan plan = plan_of(d);
  TileSizes sizes = choose_tiles(plan, *d.exprs, {});
  sizes.loop = 16;
  const std::vector<SumBound> bounds = sum_bounds(*d.exprs, plan, sizes, 1);
  REQUIRE(bounds.size() == 2);
  CHECK(bounds[0].parts_of_sum == 1);
  CHECK(bounds[1].parts_of_sum == 3);
  const std::string text = error_text(plan, bounds);
  CHECK(text.find("|error of r0| <= 79 u sum|terms|;") != text.npos);
  CHECK(text.find("|error of r1| <= 79 u sum|c_i terms_i|;") != text.npos);
}

TEST_CASE("fusion error bound: kernels stay within it") {
  constexpr double kUnit = 0x1p-24;
  struct Case {
    Derived (*derive)();
    double own;  // units of each term's own error: products, exp of a difference up to 8 with e = 4 u
    int sums;
  };
  for (const Case& c :
       {Case{sum_of_squares, 1, 1}, {sum_of_exponentials, 16 + 4, 1}, {weighted_squares, 16 + 4 + 2, 2}, {product_of_equal_numbers, 3, 1}})
    for (const std::int64_t loop : {4, 16, 128})
      for (const std::int64_t parts : {1, 8})
        for (const std::uint64_t seed : {1, 2, 3}) {
          CAPTURE(loop);
          CAPTURE(parts);
          Derived d = c.derive();
          const LoopPlan plan = plan_of(d);
          TileSizes sizes = choose_tiles(plan, *d.exprs, {});
          sizes.loop = loop;
          double bound = kUnit;
          const std::vector<SumBound> sums = sum_bounds(*d.exprs, plan, sizes, parts);
          CHECK(static_cast<int>(sums.size()) == c.sums);
          for (const SumBound& b : sums)
            bound += (b.additions(kLong) + c.own) * b.unit + b.reference_changes(kLong) * (b.unit + b.exp_error);
          const double error = errors_of(d, plan, sizes, seed, parts).at("y");
          CHECK(error <= bound);
        }
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
