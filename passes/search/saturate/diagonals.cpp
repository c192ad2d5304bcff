// Replaces labels from the root of a term down to where one of the two is missing.
#include "passes/search/saturate/diagonals.h"

#include <bit>
#include <optional>

#include "passes/search/rules/search_rules.h"
#include "passes/search/thresholds.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::search {
namespace {

bool is_function(const Node& n, ir::OpKind kind) { return n.op == Op::function && n.attribute == static_cast<int>(kind); }

/// Positions along one axis, all of which are different: integers of fewer bits wrap, and floats are rounded.
bool are_positions(const GraphTerms& all, const Ref& r) {
  const Leaf* leaf = all.leaf(all.terms.node(r.term));
  const ir::Element e = all.terms.element(r);
  return leaf && leaf->kind == Leaf::Kind::iota && r.labels.size() == 1 && ir::is_integer(e) && ir::bits(e) >= 32;
}

bool is_zero(const GraphTerms& all, const Ref& r) {
  const Leaf* leaf = all.leaf(all.terms.node(r.term));
  return leaf && leaf->kind == Leaf::Kind::number && leaf->bits == 0;
}

/// An operand of a term's node, in the labels of a reference to the term. Requires: the node keeps all labels of its operands.
Ref operand(const TermTable& terms, const Ref& of, std::size_t i) {
  const Labels slots = terms.slots(of.term);
  Ref r = terms.node(of.term).in[i];
  for (Label& l : r.labels) l = of.labels[slots.slot_of(l)];
  return r;
}

/// A choice of the elements of a value whose indices along two axes are equal; elsewhere it is 0.
struct ChosenDiagonal {
  Ref of;
  Label first = kNoLabel, second = kNoLabel;
};

std::optional<ChosenDiagonal> chosen_diagonal(const GraphTerms& all, const Ref& r) {
  const TermTable& terms = all.terms;
  if (!is_function(terms.node(r.term), ir::OpKind::select_) || !is_zero(all, operand(terms, r, 2))) return std::nullopt;
  const Ref condition = operand(terms, r, 0);
  if (!is_function(terms.node(condition.term), ir::OpKind::eq_)) return std::nullopt;
  const Ref a = operand(terms, condition, 0), b = operand(terms, condition, 1);
  if (!are_positions(all, a) || !are_positions(all, b) || a.labels == b.labels) return std::nullopt;
  if (terms.extent(a, a.labels[0]) != terms.extent(b, b.labels[0])) return std::nullopt;
  return ChosenDiagonal{operand(terms, r, 1), a.labels[0], b.labels[0]};
}

/// The term with the label `kept` for `gone`; none if a term would have `kept` twice.
Ref replaced(TermTable& terms, Ref r, Label kept, Label gone, int depth) {
  const int at = r.labels.slot_of(gone);
  if (at < 0) return r;
  if (r.labels.slot_of(kept) < 0) {
    r.labels[at] = kept;
    return r;
  }
  Node n = terms.node(r.term);
  const Labels slots = terms.slots(r.term);
  const Label own_kept = slots[r.labels.slot_of(kept)], own_gone = slots[at];
  if (n.op == Op::variable || depth == 0 || n.axis == own_kept || n.axis == own_gone) return {};
  for (int i = 0, count = operands_of(n); i < count; ++i) {
    const Ref operand = replaced(terms, n.in[static_cast<std::size_t>(i)], own_kept, own_gone, depth - 1);
    if (!operand) return {};
    n.in[static_cast<std::size_t>(i)] = operand;
  }
  n.kept &= ~set_of(own_gone);
  Ref made = terms.insert(n);
  for (Label& l : made.labels) l = r.labels[slots.slot_of(l)];
  return made;
}

}  // namespace

std::vector<Saturation::Application> sums_of_diagonals(GraphTerms& all) {
  std::vector<Saturation::Application> sums;
  TermTable& terms = all.terms;
  for (int term = 0, written = terms.size(); term < written; ++term) {
    const Node n = terms.node(term);
    if (n.op != Op::sum) continue;
    std::optional<ChosenDiagonal> d = chosen_diagonal(all, n.in[0]);
    if (d && contains(n.kept, d->second)) std::swap(d->first, d->second);
    if (!d || contains(n.kept, d->second)) continue;
    const Ref diagonal = replaced(terms, d->of, d->first, d->second, kMostOpsOfDiagonal);
    // A value that has neither label would be broadcast.
    if (!diagonal || std::popcount(n.in[0].labels.set() & ~diagonal.labels.set()) != 1) continue;
    sums.push_back({{term, terms.slots(term)}, terms.sum(diagonal, n.kept), number_of_diagonal()});
    all.origins.resize(static_cast<std::size_t>(terms.size()), all.origins[static_cast<std::size_t>(term)]);
  }
  return sums;
}

}  // namespace tilewright::passes::search
