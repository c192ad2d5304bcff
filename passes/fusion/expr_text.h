// Expressions as text for people.
#pragma once
#include <map>
#include <string>
#include <unordered_map>

#include "passes/fusion/normal_form.h"

namespace tilewright::passes::fusion {

/// Names that stand for expressions: r0 for a reduction.
using ExprNames = std::unordered_map<Expr, std::string, ExprHash>;

/// The formula; the same text in every process, whatever order it was made in.
std::string text(Expr, const ExprNames& = {});
/// "b h q".
std::string text(const AxisSet&);
/// The name of a kernel that writes these tensors: letters, digits and underscores.
std::string kernel_name_of(const std::vector<std::string>& written);
/// Text with other names of tensors.
std::string renamed(const std::string& text, const std::map<std::string, std::string>& names);

}  // namespace tilewright::passes::fusion
