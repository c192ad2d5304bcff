// Decides how sums of floats are computed, so that each has one rounding error wherever it stands in a kernel, and keeps the exactness of
// the formula.
//
// The normal form divides a sum by a number where it is a factor, and adds the terms of sums that are terms. A step of a solver that corrects
// its own errors, q = 2.3 q - 2.3 q^2 again and again, has each value of q in two forms: its terms, and a factor. If each was computed by
// itself, their errors would differ, and nothing would correct the difference.
//
// Example: w = 2 x - 6 y + 3 z, as the program writes it. The normal form of w^2 is 4 (x - 3 y + 1.5 z)^2, which is computed as w w; and
// 3 w - w^2 has the terms 6 x, -18 y, 9 z and a product: it is computed as 3 w minus w w.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "passes/fusion/expr/constant_value.h"
#include "passes/fusion/expr/magnitude.h"
#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

/// coefficient * (values + reference) or coefficient * (reference - values), where the reference stands for an average or an extreme that
/// cancels the values; or coefficient * (values - reference), where the reference changes to these values.
struct Difference {
  enum class Kind : std::uint8_t { added, subtracted, change } kind;
  Rational coefficient;
  Expr values, reference;
};

/// How a sum is computed.
struct SumOrder {
  enum class Kind : std::uint8_t {
    multiple,     // a multiple of another sum
    written,      // as the program writes it
    differences,  // differences from references, and then the other terms
    groups,       // the sums of groups of terms, in this order
    terms,        // term by term
  } kind;
  Multiple multiple = {};
  WrittenValue written = {};
  std::vector<Difference> differences = {};
  std::vector<std::vector<Term>> groups = {};
  std::vector<Term> terms = {};  // also those beside the differences
};

/// The terms that are left of a sum if all of these terms are taken out of it; none if it lacks one of them.
std::optional<std::vector<Term>> without_terms(std::vector<Term> sum, std::span<const Term> taken);

class SumOrders {
 public:
  explicit SumOrders(ExprBuilder& exprs) : exprs_(exprs) {}

  /// How a sum is computed. Each sum has one order.
  const SumOrder& order_of(Expr sum);
  /// The sum from which a sum and its multiples are computed, and the number that multiplies it.
  Multiple base_of(Expr sum);
  /// A product whose factors that are sums are replaced by the sums from which they are computed.
  struct Product {
    Wide number;
    std::vector<Factor> factors;
  };
  Product product_of_bases(Wide number, const std::vector<Factor>&);
  /// Whether product_of_bases has another number than the product.
  bool has_multiples(const std::vector<Factor>& factors) { return product_of_bases(1, factors).number != 1; }

 private:
  SumOrder decide(Expr sum);
  Multiple find_base(Expr sum);
  Expr without_number(Expr sum);
  std::optional<WrittenValue> written_order(Expr sum);
  std::vector<Term> grouped_terms(Expr sum);
  std::vector<std::vector<Term>> exact_groups(Expr sum, bool has_several_coefficients);
  bool reads_data(Expr);

  ExprBuilder& exprs_;
  std::unordered_map<Expr, SumOrder, ExprHash> orders_;
  std::unordered_map<Expr, Multiple, ExprHash> bases_;
  std::map<ExprKey, Expr> first_multiples_;  // of the sums that the program does not write, by key_of_multiples
  std::unordered_map<Expr, bool, ExprHash> reads_data_;
};

}  // namespace tilewright::passes::fusion
