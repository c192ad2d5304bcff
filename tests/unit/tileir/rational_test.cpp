// Exact fractions at the ends of their range.
#include "tileir/rational.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using tilewright::ir::Int128;
using tilewright::ir::Rational;

TEST_CASE("rational: order of fractions whose difference has no 127 bits") {
  const Rational great(Int128{1} << 120, 3), tiny(5, Int128{1} << 122), one(1);
  const std::vector<Rational> ascending{-great,
                                        Rational(-7, 3),
                                        Rational(-2),
                                        -tiny,
                                        Rational(0),
                                        tiny,
                                        Rational(1, 3),
                                        one,
                                        Rational(Int128{1} << 100, (Int128{1} << 100) - 1),
                                        great};
  for (std::size_t i = 0; i < ascending.size(); ++i)
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      CAPTURE(ascending[i].text());
      CAPTURE(ascending[j].text());
      CHECK((ascending[i] <=> ascending[j]) == (i <=> j));
    }
}

TEST_CASE("rational: order of small fractions is that of their quotients") {
  for (int a = -9; a <= 9; ++a)
    for (int b = 1; b <= 7; ++b)
      for (int c = -9; c <= 9; ++c)
        for (int d = 1; d <= 7; ++d) CHECK((Rational(a, b) <=> Rational(c, d)) == (a * d <=> c * b));
}
