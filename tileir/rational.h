// Exact rational numbers: the coefficients of extents and of the normal form of formulas.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace tilewright::ir {

__extension__ using Int128 = __int128;

/// A fraction in lowest terms with a positive denominator. Numerator and denominator have 127 bits; an operation whose result does not fit
/// throws RationalOverflow.
class Rational {
 public:
  constexpr Rational() = default;
  constexpr Rational(std::int64_t value) : numerator_(value) {}  // NOLINT: an integer is a rational number
  Rational(Int128 numerator, Int128 denominator);

  /// The exact fraction of a finite double. None if it does not fit, or if the double is not finite.
  static std::optional<Rational> from_double(double);

  Int128 numerator() const { return numerator_; }
  Int128 denominator() const { return denominator_; }
  bool is_integer() const { return denominator_ == 1; }
  bool is_zero() const { return numerator_ == 0; }
  bool is_one() const { return numerator_ == 1 && denominator_ == 1; }
  bool is_negative() const { return numerator_ < 0; }
  bool is_even() const { return is_integer() && numerator_ % 2 == 0; }
  double to_double() const;
  /// "3", "-1/2".
  std::string text() const;

  Rational operator-() const;
  friend Rational operator+(const Rational&, const Rational&);
  friend Rational operator-(const Rational& a, const Rational& b) { return a + -b; }
  friend Rational operator*(const Rational&, const Rational&);
  /// Requires: the divisor is not zero.
  friend Rational operator/(const Rational&, const Rational&);
  Rational& operator+=(const Rational& b) { return *this = *this + b; }
  Rational& operator*=(const Rational& b) { return *this = *this * b; }
  friend bool operator==(const Rational&, const Rational&) = default;
  friend std::strong_ordering operator<=>(const Rational&, const Rational&);

 private:
  Int128 numerator_ = 0, denominator_ = 1;
};

/// Thrown when a result of rational arithmetic does not fit.
struct RationalOverflow {};

/// base^exponent for an integer exponent. Requires: base is not zero if the exponent is negative.
Rational power(const Rational& base, std::int64_t exponent);
/// The fraction that a rounded constant stands for: 0.1f is 1/10. None if no fraction whose numerator and denominator together have at most
/// 20 bits rounds to the value; the limit makes a match by accident unlikely.
std::optional<Rational> intended_fraction(float);
std::optional<Rational> intended_fraction(double);

/// floor: the greatest integer that is not above the fraction. ceil: the least integer that is not below it.
Int128 floor(const Rational&);
Int128 ceil(const Rational&);

/// The exact `root`-th root of a fraction that is not negative, if it is a fraction.
std::optional<Rational> exact_root(const Rational&, std::int64_t root);

}  // namespace tilewright::ir
