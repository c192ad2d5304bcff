// Merges: what makes two products that have a factor in common parts of one product.
//
// A merge follows from a rule that has a concatenation of two such products on one side, and one product on the other:
//
//   cat_of_factor     [a | b] * c = [a * c | b * c]
//   merge_of_factor   part0([a | b] * c) = a * c  and  part1([a | b] * c) = b * c
//
// Neither equation can be searched for from right to left, because a * c does not contain b. So a merge is applied to two products that
// exist.
#pragma once
#include "passes/search/rules/conditions.h"

namespace tilewright::passes::search {

struct Merge {
  std::string name;  // the name of the rule, with "merge" in place of "cat"
  Pattern whole;     // [a | b] * c
  std::array<Rule, 2> parts;
  std::array<int, 2> own;  // the variable that only the first product has, and the one that only the second has
  int common = 0;          // the variable that both have
};

std::vector<Merge> merges_of(std::span<const Rule>);

/// "a * c, b * c : [a | b] * c"
std::string text(const Merge&);

}  // namespace tilewright::passes::search
