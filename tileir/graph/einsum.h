// Equations of einsum: which label each axis of an operand and of the result has.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tileir/type.h"

namespace tilewright::graph {

/// "bqd,bkd->bqk": operands {"bqd", "bkd"}, result "bqk". A label is a letter.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
  /// "bqd,bkd->bqk".
  std::string text() const;
  /// The labels that are summed over: those of the operands that the result lacks, in order of their first appearance.
  std::string summed() const;
};

struct ParsedEquation {
  Equation equation;
  std::string error;  // empty if the equation is valid
};
/// Spaces are skipped. `ellipsis`: "..." is kept as three dots in the labels; otherwise it is an error.
ParsedEquation parse_equation(std::string_view text, bool ellipsis);

/// Whether a product of operands of type `from` may have a result of type `to`.
bool is_product_element(ir::Element from, ir::Element to);

}  // namespace tilewright::graph
