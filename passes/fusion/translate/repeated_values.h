// Finds values that a segment would compute twice in two orders of summation, where a sum takes both.
//
// In a step of conjugate gradients, r - alpha A p takes the residual r at position i, and A p takes it at all positions j, since p is made
// of r: one kernel would sum the product inside of r along rows for the one and along columns for the other. The two differ by rounding,
// and the next residual, which is far smaller than r, is made of their difference. So r is stored: it is computed once, and all that needs
// it reads the same number.
#pragma once
#include <cstddef>
#include <set>
#include <vector>

#include "passes/fusion/expr/expr.h"

namespace tilewright::passes::fusion {

/// The value of a node at one position, and what it is computed from.
struct TranslatedValue {
  graph::NodeId node;
  Expr value;
  bool has_all_elements = false;      // as the axes of the position run: it is no slice, and no element
  std::vector<std::size_t> operands;  // indices of earlier values
};

/// The nodes whose value a sum of floats takes element by element, while another operand of the sum is computed from the same value at
/// other positions, with other reductions. `values`: operands first.
std::set<graph::NodeId> values_in_two_orders(const graph::Graph&, const std::vector<TranslatedValue>& values);

}  // namespace tilewright::passes::fusion
