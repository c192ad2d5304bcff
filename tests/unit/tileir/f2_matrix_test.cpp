// Matrices over F2: algebraic laws, tested on all inputs.
#include "tileir/layout/f2_matrix.h"

#include <doctest/doctest.h>

#include <bit>
#include <random>
#include <set>

#include "tileir/layout/f2_span.h"

namespace tilewright::ir {
namespace {

/// Calls `law` with a source of matrices, of one seed that stays and one that is new.
template <class Law>
void for_random(int times, Law law) {
  for (const std::uint32_t seed : {3u, static_cast<std::uint32_t>(std::random_device()())}) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    for (int i = 0; i < times; ++i) law(random);
  }
}

F2Matrix matrix(std::mt19937& random, int width, int height) {
  F2Matrix m;
  // Few distinct columns make dependent ones likely.
  for (int i = 0; i < width; ++i) m.columns.push_back(static_cast<std::uint32_t>(random()) & ((1u << height) - 1));
  return m;
}
int number(std::mt19937& random, int lo, int hi) { return std::uniform_int_distribution(lo, hi)(random); }

TEST_CASE("f2_matrix: applies by columns, and is linear") {
  CHECK(identity_matrix(3)(5) == 5);
  CHECK(F2Matrix{{1, 3}}(2) == 3);
  CHECK(F2Matrix{{1, 3}}(3) == 2);
  for_random(100, [](std::mt19937& random) {
    const F2Matrix m = matrix(random, 8, 12);
    const std::uint32_t x = random() & 255, y = random() & 255;
    CHECK(m(x ^ y) == (m(x) ^ m(y)));
  });
}

TEST_CASE("f2_matrix: composition applies the inner map first, and is associative") {
  for_random(100, [](std::mt19937& random) {
    const F2Matrix a = matrix(random, 6, 9), b = matrix(random, 5, 6), c = matrix(random, 7, 5);
    for (std::uint32_t x = 0; x < 32; ++x) CHECK(compose(a, b)(x) == a(b(x)));
    CHECK(compose(compose(a, b), c) == compose(a, compose(b, c)));
    CHECK(compose(a, identity_matrix(6)) == a);
  });
}

TEST_CASE("f2_matrix: rank, kernel and dependent columns are those of all sums of columns") {
  for_random(100, [](std::mt19937& random) {
    const F2Matrix m = matrix(random, number(random, 0, 9), number(random, 0, 8));
    std::set<std::uint32_t> images, kernel;
    for (std::uint32_t x = 0; x < 1u << m.width(); ++x) {
      images.insert(m(x));
      if (m(x) == 0) kernel.insert(x);
    }
    CHECK((std::size_t{1} << m.rank()) == images.size());
    const F2Matrix basis{m.kernel()};
    std::set<std::uint32_t> spanned;
    for (std::uint32_t x = 0; x < 1u << basis.width(); ++x) spanned.insert(basis(x));
    CHECK(spanned == kernel);
    CHECK(spanned.size() == std::size_t{1} << basis.width());
    for (int i = 0; i < m.width(); ++i) {
      bool depends = false;
      for (std::uint32_t x = 0; x < 1u << i; ++x) depends = depends || m(x) == m.columns[static_cast<std::size_t>(i)];
      CHECK((m.dependent_columns() >> i & 1) == depends);
    }
  });
}

TEST_CASE("f2_matrix: solve finds an input of independent columns, or there is none") {
  for_random(100, [](std::mt19937& random) {
    const F2Matrix m = matrix(random, number(random, 0, 8), 7);
    std::set<std::uint32_t> images;
    for (std::uint32_t x = 0; x < 1u << m.width(); ++x) images.insert(m(x));
    for (std::uint32_t y = 0; y < 128; ++y) {
      const auto x = m.solve(y);
      REQUIRE(x.has_value() == (images.count(y) != 0));
      if (!x) continue;
      CHECK(m(*x) == y);
      CHECK((*x & m.dependent_columns()) == 0);
    }
  });
}

TEST_CASE("f2_matrix: right inverse composed with the matrix is the identity") {
  int there = 0, not_there = 0;
  for_random(200, [&](std::mt19937& random) {
    const int bits = number(random, 1, 6);
    const F2Matrix m = matrix(random, number(random, 4, 9), bits);
    const auto inverse = m.right_inverse(bits);
    REQUIRE(inverse.has_value() == (m.rank() == bits));
    ++(inverse ? there : not_there);
    if (inverse) CHECK(compose(m, *inverse) == identity_matrix(bits));
    // For a bijection, it is also the left inverse.
    if (inverse && m.width() == bits) CHECK(compose(*inverse, m) == identity_matrix(bits));
  });
  CHECK(there > 10);
  CHECK(not_there > 10);
}

TEST_CASE("f2_matrix: all 32 bits and 32 columns are used") {
  F2Matrix m = identity_matrix(32);
  CHECK(m.rank() == 32);
  CHECK(m(0xdeadbeef) == 0xdeadbeef);
  CHECK(m.solve(0x80000001u) == 0x80000001u);
  m.columns[0] = 0x80000000u;
  CHECK(m.dependent_columns() == 0x80000000u);
  CHECK(m.kernel() == std::vector<std::uint32_t>{0x80000001u});
}

TEST_CASE("f2_span: the intersection holds what is in both spans") {
  for_random(200, [](std::mt19937& random) {
    const F2Matrix a = matrix(random, number(random, 0, 6), 7);
    const std::vector<std::uint32_t> b = F2Span().insert(matrix(random, number(random, 0, 6), 7).columns);
    const std::vector<std::uint32_t> both = intersection(a.columns, b);
    const F2Span in_a(a.columns), in_b(b), in_both(both);
    CHECK(in_both.dimension() == static_cast<int>(both.size()));
    for (std::uint32_t x = 0; x < 128; ++x) CHECK(in_both.contains(x) == (in_a.contains(x) && in_b.contains(x)));
  });
}

}  // namespace
}  // namespace tilewright::ir
