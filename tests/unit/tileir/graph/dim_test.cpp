// Extents: their canonical form, exact quotients, bounds and values.
#include "tilewright/dim.h"

#include <doctest/doctest.h>

#include <random>

#include "tileir/graph/symbols.h"

namespace tilewright {
namespace {

struct Symbols {
  Symbols() : n(table->add("n", {}, {})), m(table->add("m", {}, {})), t(table->add("t", {.min = 1, .max = 4096, .multiple_of = 64}, {})) {}
  std::shared_ptr<SymbolTable> table = std::make_shared<SymbolTable>();
  Dim n, m, t;
};

std::string error_of(auto&& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST_CASE("dim: equal polynomials are equal and read alike") {
  const Symbols s;
  CHECK((s.n + 1) * 2 - s.n == s.n + 2);
  CHECK(((s.n + 1) * 2 - s.n).text() == "n + 2");
  CHECK((s.n + s.m) * (s.n - s.m) == s.n * s.n - s.m * s.m);
  CHECK(s.n * s.m == s.m * s.n);
  CHECK(s.n != s.m);
  CHECK(s.n != s.n + 1);
  CHECK((s.n - s.n) == Dim(0));
  CHECK((s.n - s.n).is_constant());
  CHECK(s.n != Symbols().n);  // symbols of another graph
}

TEST_CASE("dim: texts") {
  const Symbols s;
  CHECK(Dim(12).text() == "12");
  CHECK((2 * s.n + 1).text() == "2 n + 1");
  CHECK((s.n * s.m / 2).text() == "n m / 2");
  CHECK(((s.n + 1) / 2).text() == "(n + 1) / 2");
  CHECK((s.n * s.n - 3 * s.m).text() == "n^2 - 3 m");
  CHECK((1 - s.n).text() == "-n + 1");
  CHECK((s.n / s.m).text() == "n / m");
  CHECK(((s.n + 1) / (2 * s.m)).text() == "(n + 1) / (2 m)");
  CHECK((2 * (s.n / s.m) + 1).text() == "2 (n / m) + 1");
}

TEST_CASE("dim: quotients that are rounded up") {
  const Symbols s;
  const Dim blocks = cdiv(s.n, 64);
  CHECK(cdiv(Dim(130), 64) == Dim(3));
  CHECK(cdiv(Dim(-130), 64) == Dim(-2));
  CHECK(blocks == cdiv(2 * s.n, 128));
  CHECK(blocks != s.n / 64);
  CHECK(blocks * 64 != s.n);
  CHECK(blocks * 64 / 64 == blocks);
  CHECK(blocks != cdiv(s.n, 32));
  // A quotient without remainder is not rounded.
  CHECK(cdiv(s.n * s.m, s.m) == s.n);
  CHECK(cdiv(s.t, 64) == s.t / 64);
  CHECK(cdiv(s.n, 1) == s.n);
  CHECK(cdiv(s.n, 64).text() == "cdiv(n, 64)");
  CHECK((64 * blocks - s.n).text() == "-n + 64 cdiv(n, 64)");
  CHECK((cdiv(s.n + 1, s.m) * s.n / 2).text() == "n cdiv(n + 1, m) / 2");
  for (std::int64_t n : {1, 63, 64, 65, 1000}) {
    CHECK(blocks.evaluate({n, 5, 64}) == (n + 63) / 64);
    CHECK((64 * blocks - n).evaluate({n, 5, 64}) == (n + 63) / 64 * 64 - n);
    CHECK(cdiv(s.n, s.m).evaluate({n, 5, 64}) == (n + 4) / 5);
    CHECK(cdiv(1 - s.n, s.m).evaluate({n, 5, 64}) == -((n - 1) / 5));
  }
  CHECK(cdiv(s.n, s.m).evaluate({7, 0, 64}) == std::nullopt);
  CHECK(blocks.least() == 1);
  CHECK(cdiv(s.n, s.m).least() == 1);
  CHECK(cdiv(s.t, 100).least() == 1);
  CHECK(cdiv(s.t, 100).greatest() == 41);
  CHECK((4 * blocks).known_divisor() == 4);
  CHECK(blocks.symbols() == std::vector<std::uint32_t>{0});
  CHECK(error_of([&] { (void)cdiv(s.n, 0); }).find("dim_test.cpp") != std::string::npos);
  CHECK(error_of([&] { (void)cdiv(s.n, 0); }).find("extent cdiv(n, 0)") != std::string::npos);
}

TEST_CASE("dim: quotients of polynomials are exact") {
  const Symbols s;
  CHECK(s.n * s.m / s.m == s.n);
  CHECK((s.n * s.n - s.m * s.m) / (s.n - s.m) == s.n + s.m);
  CHECK(4 * s.n / 2 == 2 * s.n);
  CHECK(s.n / 4 * 4 == s.n);
  CHECK((s.n / 2 + s.m / 2) == (s.n + s.m) / 2);
}

TEST_CASE("dim: other quotients are variables that equal ones share") {
  const Symbols s;
  const Dim q = s.n / s.m;
  CHECK(q == 2 * s.n / (2 * s.m));
  CHECK(q == s.n * s.n / (s.n * s.m));
  CHECK(q * s.m == s.n);
  CHECK((q * s.m).text() == "n");
  CHECK((s.n * s.n + s.n) / (s.n * s.m) == (s.n + 1) / s.m);
  CHECK(s.n / (s.n * s.m) == 1 / s.m);
  CHECK(q * (s.m / s.n) == Dim(1));
  CHECK((q + 1) * s.m == s.n + s.m);
  CHECK((q + 1) / q == 1 + s.m / s.n);
  CHECK(q != s.m / s.n);
  CHECK(q != s.n);
}

TEST_CASE("dim: divide_exactly knows what comes out even for all values") {
  const Symbols s;
  CHECK(Dim::divide_exactly(Dim(12), Dim(4)) == Dim(3));
  CHECK_FALSE(Dim::divide_exactly(Dim(12), Dim(5)));
  CHECK_FALSE(Dim::divide_exactly(Dim(12), Dim(0)));
  CHECK(Dim::divide_exactly(6 * s.n, Dim(3)) == 2 * s.n);
  CHECK(Dim::divide_exactly(s.n * s.m, s.n) == s.m);
  CHECK(Dim::divide_exactly(s.t, Dim(32)) == s.t / 32);
  CHECK_FALSE(Dim::divide_exactly(s.n, Dim(2)));
  CHECK_FALSE(Dim::divide_exactly(s.n, s.m));
  CHECK_FALSE(Dim::divide_exactly(s.n, Symbols().n));
}

TEST_CASE("dim: values and quotients at a run") {
  const Symbols s;
  CHECK((2 * s.n + s.m).evaluate({5, 7, 64}) == 17);
  CHECK((s.n / 2).evaluate({6, 1, 64}) == 3);
  CHECK_FALSE((s.n / 2).evaluate({5, 1, 64}));
  CHECK((s.n / s.m + 1).evaluate({12, 4, 64}) == 4);
  CHECK_FALSE((s.n / s.m).evaluate({12, 5, 64}));
  CHECK_FALSE((s.n / s.m).evaluate({12, 0, 64}));
  CHECK_FALSE((2 * (s.n / s.m)).evaluate({3, 2, 64}));  // 3, but the quotient inside is 3 / 2
  CHECK_FALSE((s.n * s.m).evaluate({INT64_MAX, 2, 64}));
  CHECK((s.n / s.m + s.t).symbols() == std::vector<std::uint32_t>{0, 1, 2});
  CHECK((s.t + 1).symbols() == std::vector<std::uint32_t>{2});
}

TEST_CASE("dim: bounds and divisors") {
  const Symbols s;
  CHECK(s.t.least() == 64);
  CHECK(s.t.greatest() == 4096);
  CHECK(s.n.least() == 1);
  CHECK(s.n.greatest() == INT64_MAX);
  CHECK((1000 - s.t).least() == 1000 - 4096);
  CHECK((s.t * s.t / 2).greatest() == 4096 * 4096 / 2);
  CHECK((s.n - s.m).least() == INT64_MIN);
  CHECK((s.t / s.n).least() == 0);
  CHECK((s.t / (s.n + 1)).greatest() == 2048);
  CHECK(Dim(12).known_divisor() == 12);
  CHECK((4 * s.t + 128).known_divisor() == 128);
  CHECK((s.t / 4).known_divisor() == 16);
  CHECK((s.n / 4).known_divisor() == 1);
  CHECK((6 * s.n + 4 * s.m).known_divisor() == 2);
}

TEST_CASE("dim: mistakes name the line") {
  const Symbols s, other;
  const int line = __LINE__ + 1;
  const std::string zero = error_of([&] { s.n / 0; });
  CHECK(zero.find("dim_test.cpp:" + std::to_string(line)) != std::string::npos);
  CHECK(zero.ends_with("error: extent n / 0: a division by zero"));
  CHECK(error_of([&] { Dim(7) / 2; }).ends_with("error: extent 7 / 2 is not an integer"));
  CHECK(error_of([&] { Dim(INT64_MAX) + 1; }).ends_with("overflows 64 bits"));
  CHECK(error_of([&] { Dim(INT64_MIN) / -1; }).ends_with("overflows 64 bits"));
  CHECK(error_of([&] { s.n + other.m; }).ends_with("error: extents 'n' and 'm' have symbols of two graphs"));
  CHECK(error_of([&] { (s.n + 1) / 2 - s.n / 2; }).ends_with("error: extent 1/2 is not an integer"));
  Dim sum = s.n;
  sum += 2;
  sum *= 3;
  CHECK(sum == 3 * s.n + 6);
  const int symbol = __LINE__ + 1;
  const std::string unknown = error_of([&] { (2 * s.n).value(); });
  CHECK(unknown.find("dim_test.cpp:" + std::to_string(symbol)) != std::string::npos);
  CHECK(unknown.find("error: value: extent '2 n' has a symbol, so its value is known only to a run") != std::string::npos);
  CHECK((s.n - s.n + 3).value() == 3);
}

// The canonical form against plain integers: random expressions of both, at random values.
TEST_CASE("dim: random expressions have the values of the same arithmetic on integers") {
  std::mt19937 random(std::random_device{}());
  for (int round = 0; round < 300; ++round) {
    const Symbols s;
    std::uniform_int_distribution<std::int64_t> value(1, 9), pick(0, 2);
    const std::vector<std::int64_t> values = {value(random), value(random), 64 * value(random)};
    std::vector<std::pair<Dim, std::int64_t>> made = {{s.n, values[0]}, {s.m, values[1]}, {s.t, values[2]}, {Dim(3), 3}};
    for (int i = 0; i < 8; ++i) {
      const auto [a, x] = made[random() % made.size()];
      const auto [b, y] = made[random() % made.size()];
      if (std::abs(x) > 1000000 || std::abs(y) > 1000000) continue;
      switch (random() % 4) {
        case 0: made.emplace_back(a + b, x + y); break;
        case 1: made.emplace_back(a - b, x - y); break;
        case 2: made.emplace_back(a * b, x * y); break;
        default:
          if (a.is_constant() || b.is_constant() || y == 0 || x % y != 0) continue;
          made.emplace_back(a / b, x / y);
      }
      CAPTURE(made.back().first.text());
      REQUIRE(made.back().first.evaluate(values) == made.back().second);
      REQUIRE(made.back().first.least() <= made.back().second);
      REQUIRE(made.back().first.greatest() >= made.back().second);
      if (made.back().second != 0) REQUIRE(made.back().second % made.back().first.known_divisor() == 0);
    }
  }
}

}  // namespace
}  // namespace tilewright
