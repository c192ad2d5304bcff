// Equations between formulas without labels, which hold for axes of any number: the form in which laws are written and rules are printed.
//
//   a * (b + c) = a * b + a * c        sum([a | b]) = sum(a) + sum(b)        view(a) * b = view(a * b)
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "passes/search/labelled.h"

namespace tilewright::passes::search {

inline constexpr int kMaxVariables = 6;

struct PatternNode {
  Op op = Op::variable;
  int variable = -1;  // the number of the variable in the equation
  std::array<int, 2> in = {-1, -1};
};

/// A formula without labels: its nodes, each before its operands; node 0 is the whole.
using Pattern = std::vector<PatternNode>;

struct Equation {
  Pattern left, right;
  std::string variables;  // a letter for each
  const Pattern& side(int s) const { return s == 0 ? left : right; }
};

/// Parses both sides. Throws Error with the text and the position of what is wrong.
Equation parse_equation(std::string_view left, std::string_view right);
/// "a * (b + c)"
std::string text(const Pattern&, const std::string& variables);
/// "a * (b + c) = a * b + a * c"
std::string text(const Equation&);
/// A text that equations have in common if they differ only by the names of variables, the order of operands and of the sides.
std::string identity(const Equation&);

/// The equation between two terms without their labels.
Equation without_labels(const TermTable&, int left, int right);

int ops_of(const Pattern&);
bool has_op(const Pattern&, Op);
/// Whether a sum is summed again.
bool nests_sums(const Pattern&);
/// The variables of a pattern, a bit for each.
unsigned variables_of(const Pattern&);

}  // namespace tilewright::passes::search
