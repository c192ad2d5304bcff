// Decides how sums of floats are computed, so that each has one rounding error wherever it stands in a kernel, and keeps the exactness and
// the range of the formula. The first decision that applies counts:
//
//   1. exponent_order: in an exponent, a value comes first, and then the maximum that is chosen from it or the reference that stands for it.
//   2. base_of: a multiple of another sum is computed from that one.
//   3. difference_from_maximum: a sum and its maximum are subtracted whole (differences.h).
//   4. written_order: a sum of several differences, or of a value and what is made of it, is computed as the user writes it.
//   5. take_exact_differences: differences from references come first.
//   6. exact_groups: data minus their maximum come first, and then terms that are rounded anyway.
//   7. summand: all others are added term by term, those with few axes first.
//
// Products in which the order matters for the range are computed as the user writes them, too (written_product), and those of sums from
// the sums from which these are computed (product_of_bases).
//
// The normal form divides a sum by a number where it is a factor, and adds the terms of sums that are terms. A step of a solver that corrects
// its own errors, q = 2.3 q - 2.3 q^2 again and again, has each value of q in two forms: its terms, and a factor. If each was computed by
// itself, their errors would differ, and nothing would correct the difference.
//
// Example: w = 2 x - 6 y + 3 z, as the user writes it. The normal form of w^2 is 4 (x - 3 y + 1.5 z)^2, which is computed as w w; and
// 3 w - w^2 has the terms 6 x, -18 y, 9 z and a product: it is computed as 3 w minus w w.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "passes/fusion/emit/differences.h"
#include "passes/fusion/expr/constant_value.h"
#include "passes/fusion/expr/magnitude.h"
#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

/// How a sum is computed.
struct SumOrder {
  enum class Kind : std::uint8_t {
    multiple,     // a multiple of another sum
    written,      // as the user writes it
    differences,  // differences from references, and then the other terms
    groups,       // the sums of groups of terms, in this order
    terms,        // term by term
  } kind;
  Multiple multiple = {};
  WrittenValue written = {};
  std::vector<Difference> differences = {};
  std::vector<std::vector<Term>> groups = {};
  std::vector<Term> terms = {};  // also those beside the differences
  bool rounds_products = false;  // terms: each product is rounded before it is added
};

/// How the exponential of a sum is computed.
struct ExponentOrder {
  enum class Kind : std::uint8_t {
    sum,            // exp of the sum in its own order
    below_maximum,  // exp(x + offset + others): x is a value from which the maximum is chosen
    power_of_two,   // exp2(x log2(e) + offset log2(e) + others log2(e)), where the products with x and the others are not rounded
  } kind;
  Multiple x = {};        // a value and the number that multiplies it
  Expr offset = {};       // the negative maximum, or a reference that stands for it
  Expr others = {};       // the other terms, if there are any
  bool rounds_x = false;  // power_of_two: x is multiplied by its number and rounded, as the maximum was; else log2(e) is multiplied by it
};

/// A product that is computed as the user writes it.
struct WrittenProduct {
  std::vector<Expr> conditions;  // the conditions of its masks: where one of them does not hold, it is 0
  Expr product;                  // without masks
  std::optional<WrittenValue> written;
  Expr negative;  // if `written` is empty: the negative product, which the user writes
};

class SumOrders {
 public:
  explicit SumOrders(ExprBuilder& exprs) : exprs_(exprs) {}

  /// How a sum is computed. Each sum has one order.
  const SumOrder& order_of(Expr sum);
  /// How the exponential of a sum is computed. Exponentials that refer to a reference are powers of two if `has_exp2`.
  ExponentOrder exponent_order(Expr exponent, bool has_exp2);
  /// A term of an order of kind `terms` as it is emitted: coefficient * value, where the coefficient is 1 or -1 if the value holds it.
  Term summand(const Term&, const SumOrder&);
  /// Whether a term of a sum is a product of complete reductions and of what varies no more than they do, as an average is. It is rounded
  /// before it is added: the mean in x - mean must be one number in all sums of a kernel, or sums of squares of these differences disagree.
  bool is_of_reductions(Expr term);
  /// None if the compiler multiplies the factors in an order of its own.
  std::optional<WrittenProduct> written_product(Expr product);
  /// The sum from which a sum and its multiples are computed, and the number that multiplies it.
  Multiple base_of(Expr sum);
  /// A product whose factors that are sums are replaced by the sums from which they are computed.
  struct Product {
    Wide number;
    std::vector<Factor> factors;
  };
  Product product_of_bases(Wide number, const std::vector<Factor>&);

 private:
  /// None if the exponent is not a value minus its maximum, or if every order gives the same.
  std::optional<ExponentOrder> below_maximum(Expr exponent);
  SumOrder decide(Expr sum);
  double unknown_factors(Expr product);
  Multiple find_base(Expr sum);
  Expr without_number(Expr sum);
  std::optional<WrittenValue> written_order(Expr sum);
  std::vector<Term> grouped_terms(Expr sum);
  std::vector<std::vector<Term>> exact_groups(Expr sum, bool has_several_coefficients);
  bool reads_data(Expr);

  ExprBuilder& exprs_;
  std::unordered_map<Expr, SumOrder, ExprHash> orders_;
  std::unordered_map<Expr, Multiple, ExprHash> bases_;
  std::map<ExprKey, Expr> first_multiples_;  // first multiples of sums that the user does not write, by key_of_multiples
  std::unordered_map<Expr, bool, ExprHash> reads_data_;
};

}  // namespace tilewright::passes::fusion
