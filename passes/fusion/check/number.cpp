// Arithmetic on numbers with error bounds.
#include "passes/fusion/check/number.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "passes/fusion/thresholds.h"
#include "tileir/builder.h"
#include "tileir/comparison.h"
#include "tileir/interpreter/evaluate_scalar.h"

namespace tilewright::passes::fusion {

namespace {

using ir::Element;
using ir::OpKind;

constexpr long double kRounding = 0x1p-62L;
// Integers that hold every index, without wrapping.
bool holds_indices(Element e) { return ir::is_integer(e) && ir::bits(e) >= 32; }
constexpr long double kGreatest = 1e2000L, kLeast = 1e-2000L;
const long double kUnderflow = std::exp(1 - kMostExponentOfCheck);

// A value that was rounded once, or that is exact if it is not finite. A value far out of range is unknown: infinity is only for formulas
// that have no finite value.
Number rounded(long double value, long double error, bool is_exact_zero = true) {
  if (!std::isfinite(value)) return {value, 0};
  const long double magnitude = std::fabs(value);
  if (!(error <= kGreatest) || magnitude > kGreatest) return Number::unknown();
  if (magnitude < kLeast && !(value == 0 && is_exact_zero)) return Number::unknown();
  return {value, error + kRounding * magnitude};
}

// Integers below this have the bits of a long double: they are exact, and so are their sums and products.
constexpr long double kIntegers = 0x1p64L;
bool is_integer(const Number& x) { return x.error == 0 && std::fabs(x.value) < kIntegers && std::trunc(x.value) == x.value; }

bool holds_zero(const Number& x) { return x.error > 0 && std::fabs(x.value) <= x.error; }

bool are_known(std::span<const Number> x) {
  return std::all_of(x.begin(), x.end(), [](const Number& n) { return n.is_known(); });
}

// Evaluates a function at its operands and at the ends of their intervals.
Number at_ends(std::span<const Number> x, const std::function<long double(std::span<const long double>)>& f) {
  std::array<long double, 3> at{};
  for (std::size_t i = 0; i < x.size(); ++i) at[i] = x[i].value;
  const std::span<long double> all(at.data(), x.size());
  const long double value = f(all);
  long double error = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i].error == 0) continue;
    for (const long double end : {x[i].value - x[i].error, x[i].value + x[i].error}) {
      all[i] = end;
      const long double there = f(all);
      if (std::isfinite(there) != std::isfinite(value)) return Number::unknown();
      if (std::isfinite(value)) error += 2 * std::fabs(there - value);
    }
    all[i] = x[i].value;
  }
  return rounded(value, error + 8 * kRounding * std::fabs(value));
}

long double float_function(OpKind op, std::span<const long double> x) {
  const auto propagate = [&](long double value) { return std::isnan(x[0]) || std::isnan(x[1]) ? std::nanl("") : value; };
  switch (op) {
    case OpKind::sqrt_: return std::sqrt(x[0]);
    case OpKind::rsqrt_: return 1 / std::sqrt(x[0]);
    case OpKind::exp2_: return std::exp2(x[0]);
    case OpKind::exp10_: return std::pow(10.0L, x[0]);
    case OpKind::expm1_: return std::expm1(x[0]);
    case OpKind::log2_: return std::log2(x[0]);
    case OpKind::log10_: return std::log10(x[0]);
    case OpKind::log1p_: return std::log1p(x[0]);
    case OpKind::sin_: return std::sin(x[0]);
    case OpKind::cos_: return std::cos(x[0]);
    case OpKind::tan_: return std::tan(x[0]);
    case OpKind::asin_: return std::asin(x[0]);
    case OpKind::acos_: return std::acos(x[0]);
    case OpKind::atan_: return std::atan(x[0]);
    case OpKind::sinh_: return std::sinh(x[0]);
    case OpKind::cosh_: return std::cosh(x[0]);
    case OpKind::tanh_: return std::tanh(x[0]);
    case OpKind::cbrt_: return std::cbrt(x[0]);
    case OpKind::erf_: return std::erf(x[0]);
    case OpKind::ceil_: return std::ceil(x[0]);
    case OpKind::floor_: return std::floor(x[0]);
    case OpKind::round_: return std::round(x[0]);
    case OpKind::rint_: return std::rint(x[0]);
    case OpKind::trunc_: return std::trunc(x[0]);
    case OpKind::abs_: return std::fabs(x[0]);
    case OpKind::maximum_: return propagate(std::max(x[0], x[1]));
    case OpKind::minimum_: return propagate(std::min(x[0], x[1]));
    case OpKind::fmax_: return std::fmax(x[0], x[1]);
    case OpKind::fmin_: return std::fmin(x[0], x[1]);
    case OpKind::copysign_: return std::copysign(x[0], x[1]);
    case OpKind::pow_: return std::pow(x[0], x[1]);
    case OpKind::atan2_: return std::atan2(x[0], x[1]);
    case OpKind::hypot_: return std::hypot(x[0], x[1]);
    default: break;
  }
  // Any other op is computed as in the interpreter, in f64.
  std::vector<ir::Type> types(x.size(), ir::Type(Element::f64));
  std::vector<std::uint64_t> bits;
  for (long double v : x) bits.push_back(ir::element_bits(Element::f64, static_cast<double>(v)));
  return ir::float_value(Element::f64, ir::evaluate_scalar(op, types, bits, ir::Type(Element::f64)));
}

Number exponential(const Number& x) {
  // Far below 0, the exponential is 0 within a bound that no other number is near.
  if (x.error <= kMostErrorOfExponent && x.value < -kMostExponentOfCheck && std::isfinite(x.value)) return {0, kUnderflow};
  if (std::isfinite(x.value) && (std::fabs(x.value) > kMostExponentOfCheck || x.error > kMostErrorOfExponent)) return Number::unknown();
  const long double value = std::exp(x.value);
  return rounded(value, value * (2 * x.error + 2 * kRounding));
}

Number logarithm(const Number& x) {
  if (holds_zero(x)) return Number::unknown();
  const long double value = std::log(x.value), relative = x.value == 0 ? 0 : x.error / std::fabs(x.value);
  if (relative > 0.5L) return Number::unknown();
  return rounded(value, 2 * relative + 2 * kRounding);
}

// Numbers of which all bits agree are equal: a value and the maximum of which it is the greatest element.
Number compare(OpKind op, const Number& a, const Number& b) {
  const long double error = a.error + b.error;
  const bool are_equal = a.value == b.value && error <= kEqualNotByChance * std::fabs(a.value);
  if (error > 0 && std::fabs(a.value - b.value) <= error && !are_equal) return Number::unknown();
  switch (op) {
    case OpKind::eq_: return {a.value == b.value ? 1.0L : 0.0L};
    case OpKind::ne_: return {a.value != b.value ? 1.0L : 0.0L};
    case OpKind::lt_: return {a.value < b.value ? 1.0L : 0.0L};
    case OpKind::le_: return {a.value <= b.value ? 1.0L : 0.0L};
    case OpKind::gt_: return {a.value > b.value ? 1.0L : 0.0L};
    default: return {a.value >= b.value ? 1.0L : 0.0L};
  }
}

std::uint64_t integer_bits(Element e, long double value) {
  // Two's complement for a value of at most 64 bits, signed or unsigned.
  const ir::Int128 whole = static_cast<ir::Int128>(value);
  return ir::element_bits(e, static_cast<std::int64_t>(static_cast<std::uint64_t>(whole)));
}

}  // namespace

Number Number::unknown() { return {0, HUGE_VALL}; }
bool Number::is_known() const { return error <= kGreatest; }
bool Number::is_finite() const { return std::isfinite(value); }

Number operator+(const Number& a, const Number& b) {
  if (!a.is_known() || !b.is_known()) return Number::unknown();
  const long double value = a.value + b.value;
  if (is_integer(a) && is_integer(b) && std::fabs(value) < kIntegers) return {value, 0};
  return rounded(value, a.error + b.error);
}

Number operator-(const Number& a) { return {-a.value, a.error}; }

Number operator*(const Number& a, const Number& b) {
  if (!a.is_known() || !b.is_known()) return Number::unknown();
  // Infinity times a number that may be 0 is unknown.
  if ((!a.is_finite() && holds_zero(b)) || (!b.is_finite() && holds_zero(a))) return Number::unknown();
  const long double value = a.value * b.value;
  if (is_integer(a) && is_integer(b) && std::fabs(value) < kIntegers) return {value, 0};
  if (!std::isfinite(value)) return rounded(value, 0);
  return rounded(value, std::fabs(a.value) * b.error + std::fabs(b.value) * a.error + a.error * b.error, a.value == 0 || b.value == 0);
}

Number operator/(const Number& a, const Number& b) {
  if (!a.is_known() || !b.is_known() || holds_zero(b)) return Number::unknown();
  const long double value = a.value / b.value;
  if (!std::isfinite(value)) return rounded(value, 0);
  const bool is_zero = a.value == 0 || !b.is_finite();
  return rounded(value, is_zero && b.error == 0 ? a.error : (a.error + std::fabs(value) * b.error) / (std::fabs(b.value) - b.error),
                 is_zero);
}

Number number(const ir::Rational& r) {
  const auto numerator = static_cast<long double>(r.numerator());
  if (r.is_integer()) return {numerator, std::fabs(numerator) < kIntegers ? 0 : kRounding * std::fabs(numerator)};
  return rounded(numerator / static_cast<long double>(r.denominator()), 0);
}

Number power(const Number& base, const ir::Rational& exponent) {
  if (!base.is_known()) return base;
  const Number e = number(exponent);
  if (exponent.is_one()) return base;
  if (exponent.is_negative()) return Number{1, 0} / power(base, -exponent);
  if (exponent.is_integer() && exponent <= ir::Rational(kMostMultipliedPower)) {
    Number result = base;
    for (std::int64_t i = 1, n = static_cast<std::int64_t>(exponent.numerator()); i < n; ++i) result = result * base;
    return result;
  }
  if (holds_zero(base)) return Number::unknown();
  if (!exponent.is_integer() && base.value < 0) return {std::nanl(""), 0};
  const long double value = std::pow(base.value, e.value);
  const long double relative = base.value == 0 || !base.is_finite() ? 0 : 2 * e.value * base.error / std::fabs(base.value);
  if (relative > 0.5L) return Number::unknown();
  return rounded(value, std::isfinite(value) ? std::fabs(value) * (relative + 4 * e.value * kRounding) : 0, base.value == 0);
}

Number maximum(const Number& a, const Number& b) {
  if (!a.is_known() || !b.is_known()) return Number::unknown();
  if (std::isnan(a.value) || std::isnan(b.value)) return {std::nanl(""), 0};
  const Number& greater = a.value >= b.value ? a : b;
  const Number& other = a.value >= b.value ? b : a;
  const bool is_open = std::isfinite(other.value) && greater.value - other.value <= greater.error + other.error;
  return {greater.value, is_open ? std::max(a.error, b.error) : greater.error};
}
Number minimum(const Number& a, const Number& b) { return -maximum(-a, -b); }

Number apply_float(OpKind op, std::span<const Number> x) {
  if (!are_known(x)) return Number::unknown();
  if (ir::is_comparison(op)) return compare(op, x[0], x[1]);
  switch (op) {
    case OpKind::isnan_: return {std::isnan(x[0].value) ? 1.0L : 0.0L};
    case OpKind::isinf_: return {std::isinf(x[0].value) ? 1.0L : 0.0L};
    case OpKind::neg_: return -x[0];
    case OpKind::add_: return x[0] + x[1];
    case OpKind::sub_: return x[0] - x[1];
    case OpKind::mul_: return x[0] * x[1];
    case OpKind::div_:
    case OpKind::div_rn_: return x[0] / x[1];
    case OpKind::fma_: return x[0] * x[1] + x[2];
    case OpKind::exp_: return exponential(x[0]);
    case OpKind::log_: return logarithm(x[0]);
    case OpKind::maximum_: return maximum(x[0], x[1]);
    case OpKind::minimum_: return minimum(x[0], x[1]);
    case OpKind::sqrt_: return power(x[0], ir::Rational(1, 2));
    case OpKind::rsqrt_: return power(x[0], ir::Rational(-1, 2));
    case OpKind::exp2_: return exponential(x[0] * Number{std::log(2.0L), kRounding});
    case OpKind::exp10_: return exponential(x[0] * Number{std::log(10.0L), 4 * kRounding});
    case OpKind::log2_: return logarithm(x[0]) / Number{std::log(2.0L), kRounding};
    case OpKind::log10_: return logarithm(x[0]) / Number{std::log(10.0L), 4 * kRounding};
    case OpKind::cast_: return x[0];
    default: break;
  }
  return at_ends(x, [op](std::span<const long double> at) { return float_function(op, at); });
}

Number apply_integer(OpKind op, std::span<const Number> x, Element operands, Element result) {
  std::vector<ir::Type> types;
  std::vector<std::uint64_t> bits;
  const bool compares = result == Element::boolean && x.size() == 2, is_known_order = compares && x[0].represented + x[1].represented == 1;
  for (const Number& n : x) {
    if (n.error != 0 || !n.is_finite()) return Number::unknown();
    types.emplace_back(operands);
    bits.push_back(integer_bits(operands, is_known_order ? actual_value(n) : n.value));
  }
  const bool tests_equality = op == OpKind::eq_ || op == OpKind::ne_;
  if (tests_equality && x[0].meant != x[1].meant) return {are_equal_indices(x[0], x[1]) == (op == OpKind::eq_) ? 1.0L : 0.0L};
  Number made = from_bits(result, ir::evaluate_scalar(op, types, bits, ir::Type(result)));
  if (!holds_indices(result)) return made;
  if (op == OpKind::neg_) made.meant = -x[0].meant, made.represented = x[0].represented;
  if (op == OpKind::add_ || op == OpKind::sub_) {
    made.meant = op == OpKind::add_ ? x[0].meant + x[1].meant : x[0].meant - x[1].meant;
    made.represented = x[0].represented + x[1].represented;
  }
  return made;
}

namespace {
// Whether values of this type wrap in 64 bits, and these are exact.
bool wraps(const Number& a, const Number& b, const Number& result, Element e) {
  return ir::is_integer(e) && result.error != 0 && is_integer(a) && is_integer(b);
}
Number wrapped(OpKind op, const Number& a, const Number& b, Element e) {
  const Element wide = e == Element::u64 ? Element::u64 : Element::i64;
  return apply_integer(op, std::array{a, b}, wide, wide);
}
}  // namespace

Number add(const Number& a, const Number& b, Element e) {
  Number sum = a + b;
  if (wraps(a, b, sum, e)) return wrapped(OpKind::add_, a, b, e);
  if (holds_indices(e)) sum.meant = a.meant + b.meant, sum.represented = a.represented + b.represented;
  return sum;
}

Number multiply(const Number& a, const Number& b, Element e) {
  Number product = a * b;
  if (wraps(a, b, product, e)) return wrapped(OpKind::mul_, a, b, e);
  // Only a number times an index: of two indices the product is none.
  if (holds_indices(e) && (a.meant == 0) != (b.meant == 0)) {
    const Number &factor = a.meant == 0 ? a : b, &index = a.meant == 0 ? b : a;
    if (std::fabs(factor.value) == 1) {
      product.meant = factor.value < 0 ? -index.meant : index.meant;
      product.represented = index.represented;
    }
  }
  return product;
}

Number from_bits(Element e, std::uint64_t bits) {
  if (ir::is_float(e)) return {ir::float_value(e, bits), 0};
  if (e == Element::u64) return {static_cast<long double>(bits), 0};
  return {static_cast<long double>(ir::integer_value(e, bits)), 0};
}

Number cast(const Number& x, Element from, Element to) {
  if (!x.is_known() || (from == to && ir::is_float(to))) return x;
  if (to == Element::boolean) return holds_zero(x) ? Number::unknown() : Number{x.value != 0 ? 1.0L : 0.0L};
  if (ir::is_float(to)) return x;
  if (ir::is_float(from)) {
    const auto truncated = [&](long double v) {
      return ir::evaluate_scalar(OpKind::cast_, std::array{ir::Type(Element::f64)},
                                 std::array{ir::element_bits(Element::f64, static_cast<double>(v))}, ir::Type(to));
    };
    const std::uint64_t low = truncated(x.value - x.error), high = truncated(x.value + x.error);
    return low == high ? from_bits(to, low) : Number::unknown();
  }
  if (x.error != 0) return Number::unknown();
  Number made = from_bits(to, integer_bits(to, x.value));
  if (holds_indices(to)) made.meant = x.meant, made.represented = x.represented;  // indices that wrap are equal to others
  return made;
}

Number bitcast(const Number& x, Element from, Element to) {
  if (!x.is_known()) return x;
  const auto bits_of = [&](long double v) {
    return ir::is_float(from) ? ir::element_bits(from, static_cast<double>(v)) : integer_bits(from, v);
  };
  const std::uint64_t bits = bits_of(x.value);
  if (x.error != 0 && (bits_of(x.value - x.error) != bits || bits_of(x.value + x.error) != bits)) return Number::unknown();
  return from_bits(to, bits);
}

}  // namespace tilewright::passes::fusion
