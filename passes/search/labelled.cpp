// Canonical nodes and the table of terms.
#include "passes/search/labelled.h"

#include <bit>

namespace tilewright::passes::search {
namespace {

using Renamed = std::array<Label, kMaxLabels>;

/// Numbers labels in the order of their first occurrence, operands first.
Renamed number_labels(const Node& n, bool swapped) {
  Renamed renamed;
  renamed.fill(kNoLabel);
  Label next = 0;
  const auto meet = [&](Label l) {
    if (renamed[l] == kNoLabel) renamed[l] = next++;
  };
  const int count = operands_of(n);
  for (int i = 0; i < count; ++i)
    for (Label l : n.in[static_cast<std::size_t>(swapped ? count - 1 - i : i)].labels) meet(l);
  for_each(n.kept, meet);
  return renamed;
}

Node renumber(const Node& n, bool swapped, const Renamed& renamed) {
  Node result = with_labels(n, [&](Label l) { return renamed[l]; });
  if (swapped) std::swap(result.in[0], result.in[1]);
  return result;
}

bool less(const Labels& a, const Labels& b) { return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end()); }

bool less(const Node& a, const Node& b) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (a.in[i].term != b.in[i].term) return a.in[i].term < b.in[i].term;
    if (!(a.in[i].labels == b.in[i].labels)) return less(a.in[i].labels, b.in[i].labels);
  }
  return a.kept < b.kept;
}

}  // namespace

std::size_t NodeHash::operator()(const Node& n) const {
  std::uint64_t h = 0;
  const auto mix = [&](std::uint64_t x) {
    h = (h ^ x) * 0x9E3779B97F4A7C15u;
    h ^= h >> 29;
  };
  mix(static_cast<std::uint64_t>(n.op) | static_cast<std::uint64_t>(n.element) << 8 | static_cast<std::uint64_t>(n.axis) << 16 |
      static_cast<std::uint64_t>(n.kept) << 32);
  mix(static_cast<std::uint64_t>(n.attribute));
  for (int i = 0; i < operands_of(n); ++i) {
    const Ref& r = n.in[static_cast<std::size_t>(i)];
    std::uint64_t labels = 0;
    for (Label l : r.labels) labels = labels << 8 | l;
    mix(static_cast<std::uint64_t>(r.term));
    mix(labels);
  }
  return h;
}

Labels CanonicalNode::slots(LabelSet kept) const {
  std::array<Label, kMaxLabels> named;  // by canonical label
  for_each(kept, [&](Label l) { named[renamed[l]] = l; });
  Labels slots;
  for_each(node.kept, [&](Label c) { slots.push_back(named[c]); });
  return slots;
}

CanonicalNode canonical(const Node& n) {
  CanonicalNode result{{}, number_labels(n, false)};
  result.node = renumber(n, false, result.renamed);
  // Operands are ordered by their terms. Only two references to one term are compared by their labels.
  if (!is_commutative(n.op) || n.in[0].term < n.in[1].term) return result;
  const Renamed other = number_labels(n, true);
  const Node swapped = renumber(n, true, other);
  return less(swapped, result.node) ? CanonicalNode{swapped, other} : result;
}

Ref TermTable::insert(const Node& n) {
  const CanonicalNode c = canonical(n);
  const auto [at, is_new] = terms_.emplace(c.node, size());
  if (is_new) {
    Extents extents{};
    std::size_t slot = 0;
    Labels slots;
    for_each(c.node.kept, [&](Label l) {
      slots.push_back(l);
      for (int i = 0; i < operands_of(n); ++i)
        if (const Ref& r = c.node.in[static_cast<std::size_t>(i)]; r.labels.slot_of(l) >= 0) extents[slot] = extent(r, l);
      if (l == c.node.axis) {
        const auto which = static_cast<std::size_t>(n.attribute);
        extents[slot] = n.op == Op::view    ? moves_[which].to
                        : n.op == Op::cat   ? cuts_[which].whole
                        : n.op == Op::part0 ? cuts_[which].first
                                            : cuts_[which].second;
      }
      ++slot;
    });
    nodes_.push_back(c.node);
    slots_.push_back(slots);
    extents_.push_back(extents);
  }
  return {at->second, c.slots(n.kept)};
}

int TermTable::add_cut(const Cut& c) {
  cuts_.push_back(c);
  return static_cast<int>(cuts_.size()) - 1;
}

int TermTable::add_move(const Move& m) {
  moves_.push_back(m);
  return static_cast<int>(moves_.size()) - 1;
}

Ref TermTable::variable(int index, std::span<const Extent> extents, ir::Element element) {
  Node n;
  n.element = element;
  n.attribute = index;
  n.kept = static_cast<LabelSet>((1u << extents.size()) - 1);
  const bool is_new = !terms_.contains(n);
  const Ref r = insert(n);
  if (is_new) std::copy(extents.begin(), extents.end(), extents_.back().begin());
  return r;
}

bool TermTable::fit(const Ref& a, const Ref& b, Label except) const {
  for (Label l : a.labels)
    if (l != except && b.labels.slot_of(l) >= 0 && extent(a, l) != extent(b, l)) return false;
  return true;
}

bool TermTable::are_too_many(LabelSet axes) const { return std::popcount(axes) > most_axes_; }

Ref TermTable::product(const Ref& a, const Ref& b, LabelSet kept, int attribute) {
  return a ? product(a, b, kept, attribute, element(a)) : Ref{};
}

Ref TermTable::product(Ref a, Ref b, LabelSet kept, int attribute, ir::Element result) {
  if (!a || !b) return {};
  a = sum(a, kept | b.labels.set());
  b = sum(b, kept | a.labels.set());
  const LabelSet axes = (a.labels.set() | b.labels.set()) & kept;
  if (!fit(a, b) || are_too_many(axes)) return {};
  Node n{.op = Op::product, .element = result, .attribute = attribute, .kept = axes, .in = {a, b}};
  if (!sums_an_axis(n)) n.attribute = 0;
  return insert(n);
}

Ref TermTable::sum(const Ref& a, LabelSet kept) {
  if (!a || (a.labels.set() & ~kept) == 0) return a;
  return insert({.op = Op::sum, .element = element(a), .kept = a.labels.set() & kept, .in = {a}});
}

Ref TermTable::add(const Ref& a, const Ref& b) {
  if (!a || !b || !fit(a, b) || are_too_many(a.labels.set() | b.labels.set())) return {};
  return insert({.op = Op::add, .element = element(a), .kept = a.labels.set() | b.labels.set(), .in = {a, b}});
}

Ref TermTable::function(const Ref& a, int attribute) { return a ? function(std::span(&a, 1), attribute, element(a)) : Ref{}; }

Ref TermTable::function(std::span<const Ref> operands, int attribute, ir::Element result) {
  Node n{.op = Op::function, .element = result, .attribute = attribute, .in = {}};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i]) return {};
    for (std::size_t k = 0; k < i; ++k)
      if (!fit(operands[k], operands[i])) return {};
    n.in[i] = operands[i];
    n.kept |= operands[i].labels.set();
  }
  return are_too_many(n.kept) ? Ref{} : insert(n);
}

Ref TermTable::reduce(const Ref& a, LabelSet kept, int attribute) {
  if (!a || (a.labels.set() & ~kept) == 0) return a;
  return insert({.op = Op::reduce, .element = element(a), .attribute = attribute, .kept = a.labels.set() & kept, .in = {a}});
}

Ref TermTable::view(const Ref& a, Label axis, int move) {
  if (!a || a.labels.slot_of(axis) < 0 || extent(a, axis) != moves_[static_cast<std::size_t>(move)].from) return {};
  return insert({.op = Op::view, .element = element(a), .axis = axis, .attribute = move, .kept = a.labels.set(), .in = {a}});
}

Ref TermTable::cat(const Ref& a, const Ref& b, Label axis, int number) {
  if (!a || !b || a.labels.slot_of(axis) < 0 || a.labels.set() != b.labels.set()) return {};
  if (extent(a, axis) != cut(number).first || extent(b, axis) != cut(number).second || !fit(a, b, axis)) return {};
  return insert({.op = Op::cat, .element = element(a), .axis = axis, .attribute = number, .kept = a.labels.set(), .in = {a, b}});
}

Ref TermTable::part(Op op, const Ref& a, Label axis, int number) {
  if (!a || a.labels.slot_of(axis) < 0 || extent(a, axis) != cut(number).whole) return {};
  return insert({.op = op, .element = element(a), .axis = axis, .attribute = number, .kept = a.labels.set(), .in = {a}});
}

Ref copy(const TermTable& from, const Ref& r, TermTable& to) {
  const Node& n = from.node(r.term);
  Ref made;
  if (n.op == Op::variable) {
    std::array<Extent, kMaxSlots> extents{};
    for (int s = 0; s < r.labels.size(); ++s) extents[static_cast<std::size_t>(s)] = from.extent(r.term, s);
    made = to.variable(n.attribute, {extents.data(), static_cast<std::size_t>(r.labels.size())}, n.element);
  } else {
    Node m = n;
    for (int i = 0; i < operands_of(n); ++i) m.in[static_cast<std::size_t>(i)] = copy(from, n.in[static_cast<std::size_t>(i)], to);
    made = to.insert(m);
  }
  // The slots of both terms are known by the labels of the node in `from`.
  const Labels slots = from.slots(r.term);
  for (Label& l : made.labels) l = r.labels[slots.slot_of(l)];
  return made;
}

}  // namespace tilewright::passes::search
