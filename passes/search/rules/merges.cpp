// Takes the sides of rules apart.
#include "passes/search/rules/merges.h"

#include <bit>

namespace tilewright::passes::search {
namespace {

void append(const Pattern& from, int node, Pattern& to) {
  const std::size_t at = to.size();
  to.push_back(from[static_cast<std::size_t>(node)]);
  for (std::size_t i = 0; i < 2; ++i) {
    if (to[at].in[i] < 0) continue;
    const int operand = to[at].in[i];
    to[at].in[i] = static_cast<int>(to.size());
    append(from, operand, to);
  }
}

/// part0(p), part1(p)
Pattern part_of(Op part, const Pattern& p) {
  Pattern made = {{part, -1, {1, -1}}};
  append(p, 0, made);
  return made;
}

bool is_product_of_variables(const Pattern& p) { return p[0].op == Op::product && ops_of(p) == 1; }

}  // namespace

std::vector<Merge> merges_of(std::span<const Rule> rules) {
  constexpr std::string_view kCat = "cat_";
  std::vector<Merge> all;
  for (const Rule& r : rules)
    for (int side = 0; side < 2; ++side) {
      const Pattern &cat = r.equation.side(side), &whole = r.equation.side(1 - side);
      if (cat[0].op != Op::cat || whole[0].op != Op::product) continue;
      std::array<Pattern, 2> products;
      for (std::size_t i = 0; i < 2; ++i) append(cat, cat[0].in[i], products[i]);
      if (!is_product_of_variables(products[0]) || !is_product_of_variables(products[1])) continue;
      const unsigned first = variables_of(products[0]), second = variables_of(products[1]);
      if (std::popcount(first & second) != 1 || std::popcount(first ^ second) != 2) continue;
      const auto part = [&](std::size_t i) {
        const Op op = i == 0 ? Op::part0 : Op::part1;
        return Rule(r.name, {part_of(op, whole), products[i], r.equation.variables});
      };
      const std::string rest = r.name.starts_with(kCat) ? r.name.substr(kCat.size()) : r.name;
      all.push_back({.name = "merge_" + rest,
                     .whole = whole,
                     .parts = {part(0), part(1)},
                     .own = {std::countr_zero(first & ~second), std::countr_zero(second & ~first)},
                     .common = std::countr_zero(first & second)});
    }
  return all;
}

std::string text(const Merge& m) {
  const std::string& names = m.parts[0].equation.variables;
  return text(m.parts[0].equation.right, names) + ", " + text(m.parts[1].equation.right, names) + " : " + text(m.whole, names);
}

}  // namespace tilewright::passes::search
