// Equations of extents, solved for one symbol.
#include "runtime/plan/extent_equation.h"

#include <doctest/doctest.h>

#include "tilewright/tilewright.h"

using namespace tilewright;
using detail::ExtentEquation;
using Kind = ExtentEquation::Solution::Kind;

namespace {

ExtentEquation::Solution solve(const Dim& extent, std::uint32_t unknown, std::vector<std::int64_t> values, std::int64_t value) {
  return ExtentEquation(extent, *extent.table()).solve(unknown, values, value);
}

}  // namespace

TEST_CASE("extent equation: linear in the unknown") {
  Graph g;
  const Dim n = g.dim("n"), m = g.dim("m");
  CHECK(solve(n * 8, 0, {0, 0}, 40).value == 5);
  CHECK(solve(n * 3 + 2, 0, {0, 0}, 17).value == 5);
  CHECK(solve(n * m, 1, {7, 0}, 21).value == 3);
  CHECK(solve(n * m, 0, {0, 7}, 21).value == 3);
  CHECK(solve(n / 4, 0, {0, 0}, 33).value == 132);
  CHECK(solve(n / m, 1, {12, 0}, 4).value == 3);
  CHECK(solve((n + 1) * m, 0, {0, 5}, 20).value == 3);
}

TEST_CASE("extent equation: a quotient that is rounded up gives no value, and takes part in others") {
  Graph g;
  const Dim n = g.dim("n"), m = g.dim("m");
  CHECK(solve(cdiv(n, 64), 0, {0, 0}, 3).kind == Kind::open);
  CHECK(solve(cdiv(n, 64) * n, 0, {0, 0}, 6).kind == Kind::open);
  CHECK(solve(cdiv(n, 64) * m, 1, {100, 0}, 6).value == 3);
  CHECK(solve(cdiv(n, 64) * m, 1, {100, 0}, 7).kind == Kind::none);
}

TEST_CASE("extent equation: powers") {
  Graph g;
  const Dim n = g.dim("n");
  CHECK(solve(n * n, 0, {0}, 49).value == 7);
  CHECK(solve(n * n * n * 2, 0, {0}, 54).value == 3);
  CHECK(solve(n * n + 1, 0, {0}, 50).value == 7);
  CHECK(solve(n * n, 0, {0}, 50).kind == Kind::none);
}

TEST_CASE("extent equation: 0, what no integer from 0 on fits, and what has another form") {
  Graph g;
  const Dim n = g.dim("n"), m = g.dim("m");
  CHECK(solve(n * 8, 0, {0, 0}, 41).kind == Kind::none);
  CHECK(solve(n * 8, 0, {0, 0}, 0).kind == Kind::found);
  CHECK(solve(n * 8, 0, {0, 0}, 0).value == 0);
  CHECK(solve(n * m, 0, {0, 0}, 0).kind == Kind::open);
  CHECK(solve(n + 5, 0, {0, 0}, 3).kind == Kind::none);
  CHECK(solve(n * n + n, 0, {0, 0}, 12).kind == Kind::open);
  CHECK(solve(n, 1, {5, 0}, 5).kind == Kind::open);
  CHECK(solve(n * m, 0, {0, 0}, 21).kind == Kind::open);
  CHECK(solve(n * 8, 0, {0, 0}, 40).kind == Kind::found);
}
