// Finds values that a segment would compute twice, in two orders of summation, where a sum uses both results.
//
// In a step of conjugate gradients, r - alpha A p uses the residual r at position i, and A p uses it at all positions j, since p is
// computed from r. One kernel would sum the product inside of r along rows for the first use, and along columns for the second. The two
// results differ by rounding, and the next residual, which is far smaller than r, is computed from their difference. So r is stored: it is
// computed once, and all its users read the same number.
#pragma once
#include <cstddef>
#include <set>
#include <vector>

#include "passes/fusion/expr/expr.h"

namespace tilewright::passes::fusion {

/// The value of a node at one position, and the values from which it is computed.
struct TranslatedValue {
  graph::NodeId node;
  Expr value;
  bool has_all_elements = false;      // the position runs over all elements as its axes vary; false for a slice or an element
  std::vector<std::size_t> operands;  // indices of earlier values
};

/// The nodes whose value a sum of floats uses element by element, while another operand of the sum is computed from the same value at other
/// positions, with other reductions. Each of `values` comes after its operands.
std::set<graph::NodeId> values_in_two_orders(const graph::Graph&, const std::vector<TranslatedValue>& values);

}  // namespace tilewright::passes::fusion
