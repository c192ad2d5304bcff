// Multivariate polynomials with rational coefficients in one canonical form: the arithmetic of extents.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tileir/rational.h"

namespace tilewright::graph {

/// A variable of a polynomial, as a number. Symbols count from 0, quotients from kFirstQuotient.
using Variable = std::uint32_t;
inline constexpr Variable kFirstQuotient = Variable{1} << 31;

struct Factor {
  Variable variable;
  std::int32_t exponent;  // positive
  friend bool operator==(const Factor&, const Factor&) = default;
};
/// A product of powers, variables ascending; empty: 1.
using Monomial = std::vector<Factor>;

/// The graded lexicographic order, greatest first. It is compatible with products, as division requires.
struct MonomialOrder {
  bool operator()(const Monomial& a, const Monomial& b) const;
};

/// A sum of monomials with coefficients that are not zero. Equal polynomials have equal terms. Operations throw ir::RationalOverflow if a
/// coefficient does not fit.
class Polynomial {
 public:
  using Terms = std::map<Monomial, ir::Rational, MonomialOrder>;

  Polynomial() = default;
  explicit Polynomial(const ir::Rational& constant) { add_term({}, constant); }
  static Polynomial variable(Variable v);

  const Terms& terms() const { return terms_; }
  bool is_zero() const { return terms_.empty(); }
  bool is_constant() const { return terms_.empty() || (terms_.size() == 1 && terms_.begin()->first.empty()); }
  /// Requires: is_constant().
  ir::Rational constant() const { return terms_.empty() ? ir::Rational() : terms_.begin()->second; }
  void add_term(const Monomial&, const ir::Rational& coefficient);

  friend Polynomial operator+(const Polynomial&, const Polynomial&);
  friend Polynomial operator-(const Polynomial&, const Polynomial&);
  friend Polynomial operator*(const Polynomial&, const Polynomial&);
  Polynomial scaled(const ir::Rational&) const;
  friend bool operator==(const Polynomial& a, const Polynomial& b) { return a.terms_ == b.terms_; }

  /// The quotient, if it is a polynomial. Requires: the divisor is not zero.
  static std::optional<Polynomial> divide(const Polynomial&, const Polynomial& divisor);

 private:
  Terms terms_;
};

}  // namespace tilewright::graph
