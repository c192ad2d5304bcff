// Unifies and splits atoms.
#include "tileir/graph/axis_atoms.h"

#include <algorithm>

namespace tilewright::graph {

namespace {

bool is_one(const Dim& d) { return d == Dim(1); }

}  // namespace

namespace {

// set_parent: sets the parent of an atom.
template <class SetParent>
Atom* find_root(Atom* a, SetParent set_parent) {
  for (; a->parent; a = a->parent)
    if (a->parent->parent) set_parent(a, a->parent->parent);
  return a;
}

// The recursion is as deep as an extent was divided.
template <class FindRoot>
void append_flat(const AtomList& atoms, FindRoot find, AtomList& all) {
  for (Atom* a : atoms) {
    a = find(a);
    if (a->parts.empty())
      all.push_back(a);
    else
      append_flat(a->parts, find, all);
  }
}

}  // namespace

Atom* root_of(Atom* a) {
  return find_root(a, [](Atom* x, Atom* parent) { x->parent = parent; });
}

AtomList flat(const AtomList& atoms) {
  AtomList all;
  append_flat(atoms, [](Atom* a) { return graph::root_of(a); }, all);
  return all;
}

Atom* AtomPool::root_of(Atom* a) {
  return find_root(a, [this](Atom* x, Atom* parent) { set_parent(x, parent); });
}

AtomList AtomPool::flat(const AtomList& atoms) {
  AtomList all;
  append_flat(atoms, [this](Atom* a) { return root_of(a); }, all);
  return all;
}

void AtomPool::set_parent(Atom* a, Atom* parent) {
  if (attempt_) attempt_->undo.emplace_back([a, before = a->parent] { a->parent = before; });
  a->parent = parent;
}

void AtomPool::begin_attempt() { attempt_ = {atoms_.size(), {}}; }

void AtomPool::undo_attempt() {
  for (; !attempt_->undo.empty(); attempt_->undo.pop_back()) attempt_->undo.back()();
  while (atoms_.size() > attempt_->atoms) atoms_.pop_back();
}

AtomList AtomPool::fresh(const Dim& extent) {
  if (is_one(extent)) return {};
  atoms_.push_back({extent, nullptr, {}, {}});
  return {&atoms_.back()};
}

TensorAtoms AtomPool::fresh(const TensorShape& shape) {
  TensorAtoms all;
  for (const Dim& extent : shape) all.push_back(fresh(extent));
  return all;
}

// Divides the class of an atom into [outer, extent / outer]. Requires: the division is exact, and neither factor is 1.
void AtomPool::split(Atom* a, const Dim& outer) {
  AtomList parts = fresh(outer);
  parts.push_back(fresh(*Dim::divide_exactly(a->extent, outer))[0]);
  if (attempt_) attempt_->undo.emplace_back([a] { a->parts.clear(); });
  a->parts = parts;
}

void AtomPool::merge(Atom* kept, Atom* other) {
  set_parent(other, kept);
  const std::vector<Atom::Piece> theirs = other->pieces;  // nothing reads them at `other` any more, which is not a root
  if (kept->pieces.empty()) {
    if (attempt_ && !theirs.empty()) attempt_->undo.emplace_back([kept] { kept->pieces.clear(); });
    kept->pieces = theirs;
    return;
  }
  // If two concatenations are unified, equal pieces are unified if they can be. Others have axes of their own: each concatenation finds the
  // element of its piece by the position.
  const std::vector<Atom::Piece> ours = kept->pieces;
  auto first = ours.begin();
  for (const Atom::Piece& piece : theirs) {
    const auto same = std::find_if(first, ours.end(), [&](const Atom::Piece& p) { return p.begin == piece.begin && p.end == piece.end; });
    if (same == ours.end()) continue;
    try_unify(same->atoms, piece.atoms);
    first = same + 1;
  }
}

bool AtomPool::try_unify(AtomList a, AtomList b) {
  for (;;) {
    a = flat(a), b = flat(b);
    std::size_t i = 0;
    while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
    if (i == a.size() && i == b.size()) return true;
    if (i == a.size() || i == b.size()) return false;
    if (a[i]->extent == b[i]->extent)
      merge(a[i], b[i]);
    else if (Dim::divide_exactly(a[i]->extent, b[i]->extent))
      split(a[i], b[i]->extent);
    else if (Dim::divide_exactly(b[i]->extent, a[i]->extent))
      split(b[i], a[i]->extent);
    else
      return false;
  }
}

bool AtomPool::try_broadcast(AtomList& result, const AtomList& operand) {
  if (operand.empty()) return true;
  if (!result.empty()) return try_unify(result, operand);
  result = operand;
  return true;
}

std::optional<TensorAtoms> AtomPool::reshaped(const TensorAtoms& operand, const TensorShape& shape, bool keeps_axes) {
  AtomList rest;  // the atoms that are left, the next one last
  for (const AtomList& axis : operand) rest.insert(rest.end(), axis.begin(), axis.end());
  std::reverse(rest.begin(), rest.end());
  TensorAtoms result;
  for (const Dim& extent : shape) {
    AtomList& axis = result.emplace_back();
    for (Dim wanted = extent; !is_one(wanted);) {
      if (rest.empty()) return std::nullopt;
      const AtomList next = flat({rest.back()});
      rest.pop_back();
      rest.insert(rest.end(), next.rbegin(), next.rend());
      const Dim own = next[0]->extent;
      if (keeps_axes && own != extent) return std::nullopt;
      if (const auto left = Dim::divide_exactly(wanted, own)) {
        axis.push_back(next[0]);
        rest.pop_back();
        wanted = *left;
      } else if (Dim::divide_exactly(own, wanted)) {
        split(next[0], wanted);
      } else {
        return std::nullopt;
      }
    }
  }
  if (!rest.empty()) return std::nullopt;
  return result;
}

void AtomPool::add_piece(const AtomList& joined, const Dim& begin, const Dim& end, const AtomList& axis) {
  if (joined.empty()) return;
  if (attempt_) attempt_->undo.emplace_back([a = joined[0]] { a->pieces.pop_back(); });
  joined[0]->pieces.push_back({begin, end, axis});
}

}  // namespace tilewright::graph
