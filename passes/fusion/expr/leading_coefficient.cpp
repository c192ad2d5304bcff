// Divides sums of values by a number.
#include "passes/fusion/expr/leading_coefficient.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "passes/fusion/expr/magnitude.h"

namespace tilewright::passes::fusion {

namespace {

// n 2^k with an odd n, for nonzero numbers.
struct Dyadic {
  std::int64_t odd;
  Rational power_of_two;
};

// None if the number does not have this form, or if n has more than half of the digits of a float: products of two shorter n are exact.
std::optional<Dyadic> dyadic(const Rational& c) {
  constexpr ir::Int128 kMost = 1 << 12;
  ir::Int128 odd = c.numerator(), denominator = c.denominator();
  if (odd == 0 || (denominator & (denominator - 1)) != 0) return std::nullopt;
  while (odd % 2 == 0) odd /= 2;
  if (odd > kMost || -odd > kMost) return std::nullopt;
  return Dyadic{static_cast<std::int64_t>(odd), c / Rational(odd, 1)};
}

}  // namespace

Rational leading_coefficient(const ExprBuilder& b, Expr sum) {
  const auto first =
      std::find_if(sum->terms.begin(), sum->terms.end(), [&](const Term& t) { return t.value != b.one() && !t.coefficient.is_zero(); });
  if (first == sum->terms.end()) return 1;
  std::int64_t divisor = 0;
  for (const Term& t : sum->terms) {
    if (t.coefficient.is_zero()) continue;
    const std::optional<Dyadic> c = dyadic(t.coefficient);
    if (!c) return first->coefficient;
    divisor = std::gcd(divisor, c->odd);
  }
  const Dyadic c = *dyadic(first->coefficient);
  return c.power_of_two * Rational(c.odd < 0 ? -divisor : divisor);
}

Rational coefficient_of_factor(const ExprBuilder& b, Expr sum) {
  const Rational c = leading_coefficient(b, sum);
  return is_moderate(c) ? c : Rational(1);
}

}  // namespace tilewright::passes::fusion
