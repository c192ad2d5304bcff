// The equations that tests of the search look at.
#pragma once
#include "passes/search/generate/rule_file.h"

namespace tilewright::passes::search {

/// The rules of graphs of up to three ops, derived once.
inline const DerivedRules& derived_rules() {
  static const DerivedRules derived = derive_rules(3);
  return derived;
}

/// All laws and all rules.
inline std::vector<Rule> all_equations() {
  std::vector<Rule> all = derived_rules().laws;
  for (const ProvedRule& r : derived_rules().rules) all.push_back(r.rule);
  return all;
}

}  // namespace tilewright::passes::search
