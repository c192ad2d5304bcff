// Real numbers with a bound on their rounding error: what formulas and plans are evaluated in where they are compared at a small instance.
//
// Two formulas of one value differ by rounding alone, and each number knows by how much at most: so a difference that is larger is a
// mistake, and a comparison or a root that the bound leaves open gives an unknown value, which is not compared. Numbers of 64 bits have
// exponents far beyond those of f64: only a formula that divides by 0, or the like, is infinite.
#pragma once
#include <cstdint>
#include <span>

#include "tileir/op_kind.h"
#include "tileir/rational.h"
#include "tileir/type.h"

namespace tilewright::passes::fusion {

struct Number {
  long double value = 0;
  long double error = 0;  // at most; infinite: the value is unknown

  static Number unknown();
  bool is_known() const;
  bool is_finite() const;
  /// Known and certainly not 0.
  bool is_true() const { return value != 0; }
};

Number operator+(const Number&, const Number&);
Number operator-(const Number&);
inline Number operator-(const Number& a, const Number& b) { return a + -b; }
Number operator*(const Number&, const Number&);
Number operator/(const Number&, const Number&);

Number number(const ir::Rational&);
/// base^exponent; a root of a negative number is NaN.
Number power(const Number& base, const ir::Rational& exponent);
Number maximum(const Number&, const Number&);
Number minimum(const Number&, const Number&);

/// An element-wise op that gives a float, or tests floats. Casts between floats change nothing.
Number apply_float(ir::OpKind, std::span<const Number>);
/// An element-wise op of integers or conditions of this type.
Number apply_integer(ir::OpKind, std::span<const Number>, ir::Element operands, ir::Element result);
/// A value of one type as one of another.
Number cast(const Number&, ir::Element from, ir::Element to);
Number bitcast(const Number&, ir::Element from, ir::Element to);

/// What is at these bits.
Number from_bits(ir::Element, std::uint64_t bits);

}  // namespace tilewright::passes::fusion
