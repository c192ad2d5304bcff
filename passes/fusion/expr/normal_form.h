// Makes expressions in normal form, so that formulas with the same meaning over the real numbers are one object.
//
// The rules, in order of importance (each has a test in tests/unit/passes/fusion/expr/normal_form_test.cpp):
//   1. Products are flat: x / y = x y^-1; sqrt, rsqrt, square are rational powers; (x y)^p = x^p y^p for factors known to be >= 0;
//      (x^2)^(1/2) = |x|. Roots of numbers stay exact: 96^(1/2) = 4 * 2^(1/2) * 3^(1/2).
//   2. Numbers precede products and are distributed over sums: c (a + b) = c a + c b. If a coefficient would need more than 127 bits, as in
//      (1e-20 x)^2, the number is a factor like any other.
//   3. Factors that lack the axes of a reduction leave it: factors and numbers leave a sum if that keeps its range (magnitude.h); positive
//      numbers leave a maximum.
//   4. exp(u + c log x) = x^c exp(u) for x known to be >= 0, if u is 0 or x is the sum of a softmax; exp(a) exp(b) = exp(a + b)
//      if b is a multiple of a or cancels a term of it; log(c exp(a) l) = log c + a + log l for sums l of exponentials; other factors
//      stay in one logarithm.
//   5. min x = -max(-x), for floats: there are only maxima.
//   6. m ? a : 0 = [m] a for an a that is finite for finite data; [m]^2 = [m]; [m and n] = [m] [n]; [m] (m ? a : b) = [m] a for
//      such a and b.
//   7. x + (m ? 0 : -inf) = m ? x : -inf for such an x; exp(m ? u : -inf) = [m] exp(u); exp((m ? x : -inf) - p) = [m] exp(x - p) g with a guard
//      of the maximum p, which may be -inf (hidden_maxima.h).
//   8. Nested reductions of one kind over several axes become one reduction.
//   9. A sum inside of a product or of another sum is divided by the coefficient of its first term (leading_coefficient.h).
//
// Integer expressions are exact integers: GraphToExprs makes sums and products of them only if no step can wrap.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "passes/fusion/expr/expr_pool.h"

namespace tilewright::passes::fusion {

/// Whether base^exponent is known to be > 0 or +inf, for finite data.
inline bool is_positive(const Factor& f) { return is_nonnegative(f) && (f.base->is_positive || f.exponent.is_negative()); }

/// Whether formulas are rewritten to normal form or kept as written. If kept, sums are reduced as they are and no factor leaves them;
/// GraphToExprs then makes each element-wise op on floats a `function`, for which there is no rule.
enum class Rewriting : std::uint8_t { normal_form, none };

class ExprBuilder {
 public:
  explicit ExprBuilder(ExprPool& pool, Rewriting = Rewriting::normal_form);
  ExprPool& pool() { return pool_; }
  bool rewrites() const { return rewriting_ == Rewriting::normal_form; }

  // ---- leaves ----
  Expr zero() const { return zero_; }
  Expr one() const { return one_; }
  Expr negative_infinity() const { return negative_infinity_; }
  Expr number(const Rational&);
  /// A number if the double is a rational number that fits; else infinity or a constant.
  Expr constant(double);
  /// The zero below 0, which `constant` does not tell from 0.
  Expr negative_zero();
  /// The value of an expression over symbols, as an integer or as a float. Only floats may have fractions; integers are positions.
  Expr extent(const Dim&, ir::Element = ir::Element::i64);
  Expr index(Axis);
  /// `may_leave`: positions that are data may be outside of the tensor where the value is not used.
  Expr load(Tensor, std::vector<Expr> indices, bool may_leave = false);
  Expr random(std::uint64_t seed, Expr counter);

  // ---- arithmetic ----
  Expr add(std::span<const Expr>);
  Expr add(std::initializer_list<Expr> values) { return add(std::span(values.begin(), values.size())); }
  Expr add_terms(std::span<const Term>);
  Expr subtract(Expr a, Expr b) { return add({a, scale(-1, b)}); }
  Expr scale(const Rational&, Expr);
  Expr multiply(const Rational& coefficient, const std::vector<Factor>&);
  Expr product(std::initializer_list<Expr>);
  Expr power(Expr base, const Rational& exponent) { return multiply(1, {{base, exponent}}); }
  Expr divide(Expr a, Expr b) { return multiply(1, {{a, 1}, {b, -1}}); }
  Expr exp(Expr);
  Expr log(Expr);
  Expr absolute(Expr);
  Expr maximum(Expr, Expr);
  Expr minimum(Expr a, Expr b) { return scale(-1, maximum(scale(-1, a), scale(-1, b))); }
  /// An exact integer as a value of a type, wrapped to it.
  Expr wrapped(Expr integer, ir::Element);
  /// Any other element-wise op, by its row in the table. `bits`: what the op needs besides its operands (a seed; for a comparison or test:
  /// operand_bits).
  Expr function(ir::OpKind, std::vector<Expr> operands, ir::Element, std::uint64_t bits = 0);
  /// The bits of a value of type `from` as a value of type `to`.
  Expr bitcast(Expr, ir::Element from, ir::Element to);

  // ---- conditions ----
  Expr at_least_zero(Expr integer);
  Expr equal(Expr a, Expr b);
  /// A condition that always holds, or never.
  Expr truth(bool);
  /// Whether an extent is not 0; the constant true if it cannot be 0.
  Expr is_positive(const Dim& extent);
  Expr have_positions(const AxisSet&);
  Expr conjunction(std::span<const Expr>);
  Expr conjunction(std::initializer_list<Expr> values) { return conjunction(std::span(values.begin(), values.size())); }
  Expr negation(Expr);
  Expr indicator(Expr condition, ir::Element = ir::Element::f32);
  /// `element`: the type of the values, which numbers alone do not have.
  Expr select(Expr condition, Expr value, Expr other, ir::Element element = ir::Element::f32);

  // ---- reductions ----
  /// The body combined over the axes. operand_element: how factors of a product are multiplied. element: the type of the result, to which
  /// integers wrap; none: the body's.
  Expr reduce(graph::Combine, const AxisSet&, Expr body, ProductElement operand_element = {}, std::optional<ir::Element> element = {});
  /// Reduces by a user's function along one axis; the function need not be commutative.
  Expr reduce_by(const CombiningFunction&, Axis, Expr body);

  // ---- scans ----
  /// The body combined along an axis, from the first position to `position` or (reverse) from there to the last one. No position uses this
  /// axis.
  Expr scan(graph::Combine, Axis, bool reverse, Expr body, Expr position, ir::Element);

  // ---- references; a number is its own reference ----
  Expr reference(Expr);
  Expr shift_reference(Expr);
  Expr delta(Expr);

  /// The terms of a sum; for any other expression, one term.
  std::vector<Term> terms(Expr) const;
  /// The factors of a product without its coefficient; for any other expression, one factor.
  std::vector<Factor> factors(Expr) const;
  /// The coefficient and the value that it multiplies: {3, x} for 3 x, {n, 1} for a number n.
  Term split_coefficient(Expr) const;

  /// The body of a sum along axes without a note of what its masks hide, unless it may become a product of operands. exponent: the body is
  /// multiplied by exponentials of it.
  Expr with_plain_masks(Expr body, const AxisSet& along, Expr exponent = {});
  /// The product of two values as a formula has it: a mask of one multiplies the other, and does not hide what that reads.
  Expr product_of_written(Expr x, Expr y);
  /// Notes how the user writes a product or a sum, unless its operands contain more than the value does.
  void note_written(Expr, const WrittenValue&);

  /// Replaces expressions, and rebuilds the expressions that contain them in normal form. Does not replace inside of `opaque` expressions.
  Expr substitute(Expr, const ExprMap&, const ExprSet& opaque = {});
  /// The expression with other parts: `part` is called for each part. It must not be a product, whose factors have exponents.
  Expr rebuild(Expr, const std::function<Expr(Expr)>& part);

  /// Whether a coefficient was rounded because its fraction did not fit: then the normal form is approximate.
  bool has_rounded() const { return has_rounded_; }

 private:
  /// The masks of a value, one for each condition; each notes which axes of the value it hides. The value is not infinite for finite data.
  std::vector<Factor> masks_of(Expr condition, Expr value, ir::Element);
  Expr mask(Expr condition, const AxisSet& hides, ir::Element, std::optional<std::vector<Tensor>> hidden_tensors = {});
  Expr unreduced(double);
  Expr product_of_functions(const Rational& coefficient, const std::vector<Factor>&);
  class ProductBuilder;
  Expr make(ExprKind, std::vector<Expr> operands, ir::Element);
  struct GuardedLog;
  std::optional<GuardedLog> guarded_log(Expr) const;
  bool may_be_power(const Rational& exponent, Expr base, const std::vector<Term>& all);
  std::optional<std::vector<Factor>> guards_of_visible(Expr visible, const std::vector<Expr>& conditions);
  std::optional<Expr> log_with_guards(Expr);
  Expr sum_of(std::span<const Term>);
  Expr sum_of_functions(std::span<const Term> merged, std::span<const Term> apart);
  Expr log_of_product(Expr);
  Expr make_reduction(graph::Combine, const AxisSet& bound, Expr body, const ProductElement&, ir::Element result);
  Expr reduce_sum(const AxisSet& here, const AxisSet& absent, Expr body, ProductElement operand_element, ir::Element result);
  /// The sum of two coefficients; none if it does not fit, even after rounding.
  std::optional<Rational> added(const Rational&, const Rational&);
  /// A sum with all coefficients multiplied; none if one of them does not fit.
  std::optional<Expr> scaled_sum(const Rational&, Expr);
  Rational keep_in_range(Rational& coefficient, std::vector<Factor>& outside, std::vector<Factor>& inside, ir::Element operand_element);

  ExprPool& pool_;
  Rewriting rewriting_;
  Expr zero_, one_, negative_infinity_;
  bool has_rounded_ = false;
};

/// The tensors of the loads inside of an expression, in the order of the loads.
std::vector<Tensor> tensors_of(Expr);

/// The element type of arithmetic on these values: numbers and extents adapt to the others, integers are exact.
ir::Element common_element(std::span<const Expr>);

}  // namespace tilewright::passes::fusion
