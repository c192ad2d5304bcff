// The rules of rules.txt as the search applies them.
#pragma once
#include "passes/search/rules/merges.h"
#include "passes/search/rules/saturation.h"

namespace tilewright::passes::search {

/// The rules of rule_names.def. A test compares them with what is derived.
const std::vector<Rule>& search_rules();
/// The merges that follow from them.
const std::vector<Merge>& search_merges();

/// The reason of a union: merges are numbered after the rules, and the law of diagonals (saturate/diagonals.h) after the merges.
int number_of_merge(std::size_t merge);
int number_of_diagonal();
/// The name of a rule, of a merge, or of the law of diagonals.
std::string_view name_of_rule(int number);

/// Whether the right side of a rule is searched for, too: if it is of one op or none, it would be found everywhere.
bool is_used_both_ways(const Equation&);

/// The directions in which the search applies rules. A side is not searched for if only the other one cuts or moves an axis, because it does
/// not say which.
std::vector<Direction> search_directions(std::span<const Rule>);

}  // namespace tilewright::passes::search
