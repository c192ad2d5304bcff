// Solves equations of extents for one symbol.
#include "runtime/plan/extent_equation.h"

#include <algorithm>
#include <array>

namespace tilewright::detail {

using ir::Rational;

ExtentEquation::ExtentEquation(const Dim& extent, const SymbolTable& table) : extent_(extent), symbols_(extent.symbols()) {
  if (extent.is_constant()) return;
  SymbolTable::Ratio ratio;
  try {
    ratio = table.expand(extent.expression()->polynomial);
  } catch (const ir::RationalOverflow&) {
    return;  // no terms: every symbol is open
  }
  for (const auto& [monomial, coefficient] : ratio.numerator.terms()) numerator_.push_back({coefficient, monomial});
  for (const auto& [monomial, coefficient] : ratio.denominator.terms()) denominator_.push_back({coefficient, monomial});
}

/// The value of a quotient that is rounded up. None if it depends on the unknown, because many values of the unknown give one quotient.
std::optional<std::int64_t> ExtentEquation::rounded_value(graph::Variable quotient, std::uint32_t unknown,
                                                          std::span<const std::int64_t> values) const {
  const Dim q = extent_.table()->dim(quotient);
  const std::vector<std::uint32_t> symbols = q.symbols();
  if (std::find(symbols.begin(), symbols.end(), unknown) != symbols.end()) return std::nullopt;
  return q.evaluate(std::vector<std::int64_t>(values.begin(), values.end()));
}

// numerator - value * denominator is a polynomial in the unknown: the sum of c[k] x^k.
ExtentEquation::Solution ExtentEquation::solve(std::uint32_t unknown, std::span<const std::int64_t> values, std::int64_t value) const {
  constexpr std::size_t kMostPowers = 16;
  std::array<Rational, kMostPowers> c{};
  const auto add = [&](const std::vector<Term>& terms, const Rational& scale) {
    for (const Term& t : terms) {
      Rational product = t.coefficient * scale;
      std::size_t power = 0;
      for (const graph::Factor& f : t.monomial) {
        if (f.variable >= graph::kFirstQuotient) {
          const auto value = rounded_value(f.variable, unknown, values);
          if (!value) return false;
          product *= ir::power(Rational(*value), f.exponent);
        } else if (f.variable == unknown)
          power = static_cast<std::size_t>(f.exponent);
        else
          product *= ir::power(Rational(values[f.variable]), f.exponent);
      }
      if (power >= kMostPowers) return false;
      c[power] += product;
    }
    return true;
  };
  try {
    if (!add(numerator_, 1) || !add(denominator_, -Rational(value))) return {Solution::Kind::open};
    std::size_t power = 0;
    for (std::size_t k = 1; k < kMostPowers; ++k) {
      if (c[k].is_zero()) continue;
      if (power != 0) return {Solution::Kind::open};
      power = k;
    }
    if (power == 0) return {Solution::Kind::open};
    const Rational right = -c[0] / c[power];
    if (right.is_zero()) return {Solution::Kind::found, 0};
    if (right.is_negative()) return {Solution::Kind::none};
    const auto root = ir::exact_root(right, static_cast<std::int64_t>(power));
    if (!root || !root->is_integer() || *root > Rational(INT64_MAX)) return {Solution::Kind::none};
    return {Solution::Kind::found, static_cast<std::int64_t>(root->numerator())};
  } catch (const ir::RationalOverflow&) {
    return {Solution::Kind::open};
  }
}

}  // namespace tilewright::detail
