// Weighted averages of data, sum of w x / sum of w: their value so far is an estimate of their value, so that x minus the average does not
// cancel where w is not 0.
#pragma once
#include <vector>

#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

/// Whether a value stays the same if all these sums grow by one factor, as weighted averages do.
bool is_ratio_of_sums(ExprBuilder&, Expr value, const std::vector<Expr>& sums);

/// Whether an average reads all tensors of the data.
bool reads_all_data_of(Expr average, Expr data);

/// The factors in an average's sums along the loop's axis that are not the averaged data: masks and weights.
std::vector<Expr> weights_of_average(ExprBuilder&, const std::vector<Expr>& sums, Expr averaged, Axis loop);

/// Whether a product is 0 wherever the weight is 0.
bool has_weight(const ExprBuilder&, Expr product, Expr weight);

}  // namespace tilewright::passes::fusion
