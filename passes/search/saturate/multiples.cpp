// Multiples are read off the members of classes, a few products deep.
#include "passes/search/saturate/multiples.h"

#include <algorithm>

#include "tileir/op_kind.h"

namespace tilewright::passes::search {
namespace {

constexpr int kMostConstants = 3;  // one times the product with the next

Signs product(Signs a, Signs b) {
  if (a == Signs::zero || b == Signs::zero) return Signs::zero;
  if (a == Signs::both || b == Signs::both) return Signs::both;
  return a == b ? Signs::positive : Signs::negative;
}

/// An operand of a member of a class, in the labels of a reference to the class.
Ref operand(const Member& m, std::size_t i, const Labels& of) {
  Ref r = m.node.in[i];
  for (Label& l : r.labels) l = of[m.slots.slot_of(l)];
  return r;
}

}  // namespace

bool FiniteTerms::follows(const Node& n) {
  if (!ir::is_float(n.element)) return true;
  if (n.op == Op::variable) {
    const Leaf& leaf = *all_.leaf(n);
    return leaf.kind == Leaf::Kind::ones || leaf.kind == Leaf::Kind::iota || leaf.signs.has_value();
  }
  const bool is_cast = n.op == Op::function && n.attribute == static_cast<int>(ir::OpKind::cast_);
  if (n.op == Op::function && !(is_cast && !ir::is_float(all_.terms.element(n.in[0])))) return false;
  // The maximum of nothing is -inf.
  if (n.op == Op::reduce) return false;
  for (int i = 0; i < operands_of(n); ++i)
    if (!holds(n.in[static_cast<std::size_t>(i)].term)) return false;
  return true;
}

std::optional<Signs> Multiples::signs_of(const Ref& r) const {
  for (const Member& m : source_.members(source_.find(r).term))
    if (m.node.op == Op::variable)
      if (const auto& signs = all_.leaf(m.node)->signs) return signs;
  return std::nullopt;
}

void Multiples::find(Signs signs, const Ref& r, int depth, std::vector<Multiple>& found) const {
  const Ref root = source_.find(r);
  found.push_back({signs, root});
  for (const Member& m : source_.members(root.term)) {
    if (m.node.op == Op::variable)
      if (const auto& own = all_.leaf(m.node)->signs) found.push_back({product(signs, *own), {}});
    if (m.node.op != Op::product || sums_an_axis(m.node) || depth == 0) continue;
    for (std::size_t i = 0; i < 2; ++i)
      if (const auto own = signs_of(m.node.in[i])) find(product(signs, *own), operand(m, 1 - i, root.labels), depth - 1, found);
  }
}

bool Multiples::is_negated(const Ref& r) const {
  const auto& members = source_.members(source_.find(r).term);
  return std::any_of(members.begin(), members.end(), [&](const Member& m) {
    return m.node.op == Op::product && (signs_of(m.node.in[0]) == Signs::negative || signs_of(m.node.in[1]) == Signs::negative);
  });
}

bool Multiples::are_opposite(const Ref& b, const Ref& c) const {
  std::vector<Multiple> first, second;
  find(Signs::positive, b, kMostConstants, first);
  find(Signs::positive, c, kMostConstants, second);
  const auto is_zero = [](const Multiple& m) { return m.signs == Signs::zero; };
  if (std::ranges::any_of(first, is_zero) || std::ranges::any_of(second, is_zero)) return true;
  return std::ranges::any_of(first, [&](const Multiple& x) {
    return std::ranges::any_of(second, [&](const Multiple& y) { return x.of == y.of && (x.signs != y.signs || x.signs == Signs::both); });
  });
}

}  // namespace tilewright::passes::search
