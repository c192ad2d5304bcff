// Fractions of 128-bit integers, reduced after each operation.
#include "tileir/rational.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tilewright::ir {

namespace {

constexpr Int128 kMost = (Int128{1} << 126) - 1 + (Int128{1} << 126);

Int128 magnitude(Int128 x) { return x < 0 ? -x : x; }

Int128 gcd(Int128 a, Int128 b) {
  a = magnitude(a), b = magnitude(b);
  while (b != 0) {
    const Int128 rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

Int128 multiply(Int128 a, Int128 b) {
  Int128 product;
  if (__builtin_mul_overflow(a, b, &product) || product < -kMost) throw RationalOverflow{};
  return product;
}

Int128 add(Int128 a, Int128 b) {
  Int128 sum;
  if (__builtin_add_overflow(a, b, &sum) || sum < -kMost) throw RationalOverflow{};
  return sum;
}

std::string decimal(Int128 value) {
  if (value == 0) return "0";
  std::string digits;
  for (Int128 rest = magnitude(value); rest != 0; rest /= 10) digits += static_cast<char>('0' + static_cast<int>(rest % 10));
  if (value < 0) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

// The integer whose `root`-th power is x, if there is one. x is not negative.
std::optional<Int128> integer_root(Int128 x, std::int64_t root) {
  const auto guess = static_cast<Int128>(std::llround(std::pow(static_cast<double>(x), 1.0 / static_cast<double>(root))));
  for (Int128 candidate = std::max<Int128>(guess - 2, 0); candidate <= guess + 2; ++candidate) {
    Int128 power = 1;
    bool fits = true;
    for (std::int64_t i = 0; i < root && fits; ++i) fits = !__builtin_mul_overflow(power, candidate, &power);
    if (fits && power == x) return candidate;
  }
  return std::nullopt;
}

}  // namespace

Rational::Rational(Int128 numerator, Int128 denominator) {
  if (denominator < 0) numerator = -numerator, denominator = -denominator;
  const Int128 common = gcd(numerator, denominator);
  numerator_ = numerator / common;
  denominator_ = denominator / common;
}

std::optional<Rational> Rational::from_double(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  if (value == 0) return Rational();
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  auto mantissa = static_cast<std::int64_t>(std::ldexp(fraction, 53));
  exponent -= 53;
  while (mantissa % 2 == 0) mantissa /= 2, ++exponent;
  constexpr int kMostExponent = 64;  // leaves room for products
  if (exponent > kMostExponent || exponent < -kMostExponent - 40) return std::nullopt;
  return exponent >= 0 ? Rational(Int128{mantissa} << exponent, 1) : Rational(mantissa, Int128{1} << -exponent);
}

double Rational::to_double() const { return static_cast<double>(numerator_) / static_cast<double>(denominator_); }

std::string Rational::text() const { return is_integer() ? decimal(numerator_) : decimal(numerator_) + "/" + decimal(denominator_); }

Rational Rational::operator-() const {
  Rational negated = *this;
  negated.numerator_ = -numerator_;
  return negated;
}

Rational operator+(const Rational& a, const Rational& b) {
  const Int128 common = gcd(a.denominator_, b.denominator_);
  const Int128 scale = b.denominator_ / common;
  return {add(multiply(a.numerator_, scale), multiply(b.numerator_, a.denominator_ / common)), multiply(a.denominator_, scale)};
}

Rational operator*(const Rational& a, const Rational& b) {
  // Cancel across the operands first, so that a product overflows only if the result does not fit.
  const Int128 left = std::max<Int128>(gcd(a.numerator_, b.denominator_), 1),
               right = std::max<Int128>(gcd(b.numerator_, a.denominator_), 1);
  return {multiply(a.numerator_ / left, b.numerator_ / right), multiply(a.denominator_ / right, b.denominator_ / left)};
}

Rational operator/(const Rational& a, const Rational& b) { return a * Rational(b.denominator_, b.numerator_); }

// Compares the terms of the continued fractions, so that nothing overflows. Whole parts decide unless they are equal; of the remainders,
// below 1, the one with the smaller reciprocal is the greater.
std::strong_ordering operator<=>(const Rational& a, const Rational& b) {
  struct Fraction {
    Int128 numerator, denominator;
    Int128 take_whole_part() {
      Int128 whole = numerator / denominator;
      numerator %= denominator;
      if (numerator < 0) numerator += denominator, --whole;
      return whole;
    }
    bool is_zero() const { return numerator == 0; }
  };
  Fraction x{a.numerator_, a.denominator_}, y{b.numerator_, b.denominator_};
  while (true) {
    const Int128 whole_x = x.take_whole_part(), whole_y = y.take_whole_part();
    if (whole_x != whole_y) return whole_x < whole_y ? std::strong_ordering::less : std::strong_ordering::greater;
    if (x.is_zero() && y.is_zero()) return std::strong_ordering::equal;
    if (x.is_zero()) return std::strong_ordering::less;
    if (y.is_zero()) return std::strong_ordering::greater;
    x = std::exchange(y, {x.denominator, x.numerator});
    x = {x.denominator, x.numerator};
  }
}

Rational power(const Rational& base, std::int64_t exponent) {
  Rational result = 1, square = exponent < 0 ? Rational(1) / base : base;
  for (std::uint64_t rest = static_cast<std::uint64_t>(exponent < 0 ? -exponent : exponent); rest != 0; rest /= 2) {
    if (rest % 2 == 1) result *= square;
    if (rest > 1) square *= square;
  }
  return result;
}

namespace {

// The first convergent of the continued fraction that rounds to the value.
template <class Float>
std::optional<Rational> intended(Float value, double most_product) {
  if (!std::isfinite(value) || value == 0) return std::nullopt;
  const double magnitude = std::fabs(static_cast<double>(value));
  double rest = magnitude;
  std::int64_t p = 1, q = 0, earlier_p = 0, earlier_q = 1;
  for (;;) {
    const double whole = std::floor(rest);
    const double next_p = whole * static_cast<double>(p) + static_cast<double>(earlier_p);
    const double next_q = whole * static_cast<double>(q) + static_cast<double>(earlier_q);
    if (std::max(next_p, 1.0) * next_q > most_product) return std::nullopt;
    earlier_p = std::exchange(p, static_cast<std::int64_t>(next_p));
    earlier_q = std::exchange(q, static_cast<std::int64_t>(next_q));
    if (static_cast<Float>(static_cast<double>(p) / static_cast<double>(q)) == static_cast<Float>(magnitude))
      return Rational(value < 0 ? -p : p, q);
    if (rest == whole) return std::nullopt;
    rest = 1 / (rest - whole);
  }
}

}  // namespace

std::optional<Rational> intended_fraction(float value) { return intended(value, 0x1p20); }
std::optional<Rational> intended_fraction(double value) { return intended(value, 0x1p48); }

Int128 floor(const Rational& r) {
  const Int128 towards_zero = r.numerator() / r.denominator();
  return r.is_negative() && !r.is_integer() ? towards_zero - 1 : towards_zero;
}

Int128 ceil(const Rational& r) {
  const Int128 towards_zero = r.numerator() / r.denominator();
  return !r.is_negative() && !r.is_integer() ? towards_zero + 1 : towards_zero;
}

std::optional<Rational> exact_root(const Rational& x, std::int64_t root) {
  if (root == 1) return x;
  const auto numerator = integer_root(x.numerator(), root), denominator = integer_root(x.denominator(), root);
  if (!numerator || !denominator) return std::nullopt;
  return Rational(*numerator, *denominator);
}

}  // namespace tilewright::ir
