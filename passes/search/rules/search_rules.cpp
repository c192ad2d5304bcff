// Makes the rules from their texts, once for each process.
#include "passes/search/rules/search_rules.h"

namespace tilewright::passes::search {
namespace {

bool cuts(const Pattern& p) { return has_op(p, Op::cat) || has_op(p, Op::part0) || has_op(p, Op::part1); }

bool says_which_axis(const Equation& e, int side) {
  const Pattern &searched = e.side(side), &added = e.side(1 - side);
  return (cuts(searched) || !cuts(added)) && (has_op(searched, Op::view) || !has_op(added, Op::view));
}

}  // namespace

const std::vector<Rule>& search_rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> made;
#define TW_RULE(name, left, right) made.emplace_back(#name, parse_equation(left, right));
#include "passes/search/rule_names.def"
#undef TW_RULE
    return made;
  }();
  return rules;
}

const std::vector<Merge>& search_merges() {
  static const std::vector<Merge> merges = merges_of(search_rules());
  return merges;
}

int number_of_merge(std::size_t merge) { return static_cast<int>(search_rules().size() + merge); }

int number_of_diagonal() { return number_of_merge(search_merges().size()); }

std::string_view name_of_rule(int number) {
  if (number == number_of_diagonal()) return "diagonal";
  const auto at = static_cast<std::size_t>(number), rules = search_rules().size();
  return at < rules ? search_rules()[at].name : search_merges()[at - rules].name;
}

bool is_used_both_ways(const Equation& e) { return ops_of(e.right) > 1 || ops_of(e.right) >= ops_of(e.left); }

std::vector<Direction> search_directions(std::span<const Rule> rules) {
  std::vector<Direction> all;
  for (std::size_t r = 0; r < rules.size(); ++r) {
    const Equation& e = rules[r].equation;
    for (int side = 0; side < (is_used_both_ways(e) ? 2 : 1); ++side)
      if (binds_all(e, side) && says_which_axis(e, side)) all.push_back({static_cast<int>(r), side});
  }
  return all;
}

}  // namespace tilewright::passes::search
