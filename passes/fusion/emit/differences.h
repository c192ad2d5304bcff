// Takes differences out of the terms of sums: values minus the reference or the extreme that is chosen from them. Such a difference is small,
// or exact, if it is computed before the other terms are added (sum_order.h).
//
// Each function removes from `terms` what it returns.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

/// coefficient * (values + reference) or coefficient * (reference - values), where the reference stands for an average or an extreme that
/// cancels the values; or coefficient * (values - reference), where the reference changes to these values.
struct Difference {
  enum class Kind : std::uint8_t { added, subtracted, change } kind;
  Rational coefficient;
  Expr values, reference;
  bool rounds_values = false;  // the reference is an extreme, which was chosen from the rounded values
};

/// Differences from references, which are computed first: the values as they are written, minus the reference, then times their coefficient.
/// Such a difference is small, and so is its rounding error. None, and the terms stay, if the sum is one difference without a coefficient.
std::vector<Difference> take_exact_differences(ExprBuilder&, std::vector<Term>& terms);

/// The whole sum as one difference between a maximum and the values that it is chosen from, if these are a sum. Added to the maximum one by
/// one, their terms would be rounded in another way than they were when the maximum was chosen, and the difference might be below 0.
std::optional<Difference> difference_from_maximum(ExprBuilder&, const std::vector<Term>& sum);

/// The change of a reference, s - y for a reference y to s, for each reference whose s is one of the terms.
std::vector<std::vector<Term>> take_changes(ExprBuilder&, std::vector<Term>& terms);

/// An extreme and the values that it is chosen from, for each extreme of some but not all of the terms: of x + z - max x - max z each
/// difference is exact, while x + z is rounded, and so is max x + max z.
std::vector<std::vector<Term>> take_below_extremes(ExprBuilder&, std::vector<Term>& terms);

/// The terms that are left of a sum if all of these terms are taken out of it; none if it lacks one of them.
std::optional<std::vector<Term>> without_terms(std::vector<Term> sum, std::span<const Term> taken);

}  // namespace tilewright::passes::fusion
