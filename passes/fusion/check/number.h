// Real numbers with a bound on their rounding error: formulas and plans are evaluated with them to be compared at a small instance.
//
// Two formulas of one value differ only by rounding, and each number has a bound on its error: so a larger difference is a mistake, and a
// comparison or a root that the bound does not decide gives an unknown value, which is not compared. Numbers of 64 bits have exponents far
// beyond those of f64: only a formula that divides by 0, or does something similar, is infinite.
#pragma once
#include <cstdint>
#include <span>

#include "passes/fusion/check/coordinates.h"
#include "tileir/op_kind.h"
#include "tileir/rational.h"
#include "tileir/type.h"

namespace tilewright::passes::fusion {

struct Number {
  long double value = 0;
  long double error = 0;   // upper bound of the error; infinite: the value is unknown
  std::int64_t meant = 0;  // of an index, and of sums of indices: how much less it is for the position that is meant (coordinates.h)
  int represented = 0;     // how many indices in it have such a position

  static Number unknown();
  bool is_known() const;
  bool is_finite() const;
  /// Whether the value is known and certainly not 0.
  bool is_true() const { return value != 0; }
};

Number operator+(const Number&, const Number&);
Number operator-(const Number&);
inline Number operator-(const Number& a, const Number& b) { return a + -b; }
Number operator*(const Number&, const Number&);
Number operator/(const Number&, const Number&);
/// As above, for values of this type: 64-bit integers wrap.
Number add(const Number&, const Number&, ir::Element);
Number multiply(const Number&, const Number&, ir::Element);

Number number(const ir::Rational&);
/// An integer, which has no error.
inline Number exact_number(std::int64_t v) { return {static_cast<long double>(v), 0}; }
/// The index that a coordinate means.
inline Number index_number(std::int64_t coordinate) {
  return {static_cast<long double>(position_of(coordinate)), 0, meant_by(coordinate), meant_by(coordinate) > 0 ? 1 : 0};
}
/// base^exponent; a root of a negative number is NaN.
Number power(const Number& base, const ir::Rational& exponent);
Number maximum(const Number&, const Number&);
Number minimum(const Number&, const Number&);

/// Applies an element-wise op that gives a float, or tests floats. Casts between floats change nothing.
Number apply_float(ir::OpKind, std::span<const Number>);
/// The value at the position that is meant.
inline long double actual_value(const Number& x) { return x.value - static_cast<long double>(x.meant); }
/// Whether two indices without errors are equal at the positions that are meant.
inline bool are_equal_indices(const Number& a, const Number& b) { return actual_value(a) == actual_value(b); }
/// Whether an index without error is 0 or more. Which of two represented positions comes first is not known: they have one value.
inline bool is_at_least_zero(const Number& x) { return (x.represented == 1 ? actual_value(x) : x.value) >= 0; }
/// Applies an element-wise op on integers or conditions of this type.
Number apply_integer(ir::OpKind, std::span<const Number>, ir::Element operands, ir::Element result);
/// Converts a value from one type to another.
Number cast(const Number&, ir::Element from, ir::Element to);
Number bitcast(const Number&, ir::Element from, ir::Element to);

/// The number that these bits represent.
Number from_bits(ir::Element, std::uint64_t bits);

}  // namespace tilewright::passes::fusion
