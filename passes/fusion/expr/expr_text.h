// Prints expressions as text for people.
#pragma once
#include <string>
#include <unordered_map>

#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

/// Names that replace expressions: r0 for a reduction.
using ExprNames = std::unordered_map<Expr, std::string, ExprHash>;

/// The text of a formula; it is the same in every process, in whatever order the formula was made.
std::string text(Expr, const ExprNames& = {});
/// "b h q".
std::string text(const AxisSet&);

}  // namespace tilewright::passes::fusion
