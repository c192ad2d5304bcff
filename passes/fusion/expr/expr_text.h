// Expressions as text for people.
#pragma once
#include <string>
#include <unordered_map>

#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

/// Names that stand for expressions: r0 for a reduction.
using ExprNames = std::unordered_map<Expr, std::string, ExprHash>;

/// The formula; the same text in every process, whatever order it was made in.
std::string text(Expr, const ExprNames& = {});
/// "b h q".
std::string text(const AxisSet&);

}  // namespace tilewright::passes::fusion
