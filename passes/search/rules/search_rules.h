// The rules of rules.txt as the search applies them.
#pragma once
#include "passes/search/rules/saturation.h"

namespace tilewright::passes::search {

/// The rules of rule_names.def. A test compares them with what is derived.
const std::vector<Rule>& search_rules();

/// Whether the right side of a rule is searched for, too: if it is of one op or none, it would be found everywhere.
bool is_used_both_ways(const Equation&);

/// The directions in which the search applies rules. A side is not searched for if only the other one cuts or moves an axis, because it does
/// not say which.
std::vector<Direction> search_directions(std::span<const Rule>);

}  // namespace tilewright::passes::search
