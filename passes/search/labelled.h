// Labelled terms: formulas of tensors in which an axis is a label and not a position, so that transposing and broadcasting need no nodes.
//
//   product(a[i, k], b[k, j] -> i, j)     the sum of a times b over the labels that the result lacks: scaling, outer product, matmul, dot
//   sum(a[i, k] -> i)                     a sum over axes
//   add(a[i], b[j])                       a label that one operand lacks broadcasts
//   f(a), f(a[i], b[j])                   element by element, unknown; a label that one operand lacks broadcasts
//   reduce(a[i, k] -> i)                  a maximum or the like over axes
//   view(a; i)                            a linear map along axis i: window, stride, shift, flip, zero padding
//   [a | b]; n, part0(x; n), part1(x; n)  two pieces of the same axes along axis n, and each of them
//
// A reference is a term with a label for each of its slots. A node is in canonical form when operands of products and sums stand in a fixed
// order and labels are numbered in the order of their first occurrence; the slots of a term are its kept labels in this order. So the
// transpose of a product is the same term under other labels:
//
//   product(b[k, j], a[i, k] -> j, i)  ->  the term of product(a[i, k], b[k, j] -> i, j), referred to with exchanged labels
//
// Sums are taken early: a product first sums the axes that only one operand has and the result lacks.
#pragma once
#include <span>
#include <unordered_map>
#include <vector>

#include "passes/search/labels.h"
#include "tileir/type.h"

namespace tilewright::passes::search {

enum class Op : std::uint8_t { variable, product, sum, add, function, reduce, view, cat, part0, part1 };

inline bool is_binary(Op op) { return op == Op::product || op == Op::add || op == Op::cat; }
inline bool is_commutative(Op op) { return op == Op::product || op == Op::add; }
/// The operands of an op in formulas of rules, where functions have one.
inline int operands_of(Op op) { return op == Op::variable ? 0 : is_binary(op) ? 2 : 1; }
/// Whether a node names an axis along which it works.
inline bool has_axis(Op op) { return op >= Op::view; }

/// The extent of an axis: axes of the same extent fit each other. In rules: a plain axis, one that is cut into two pieces, and the axis of each
/// piece. In terms of a graph it is the number of an extent in a table.
enum class Extent : std::int32_t { plain, whole, first, second };

/// How an axis is cut, and what a view makes of an axis. Rules have one of each.
struct Cut {
  Extent whole = Extent::whole, first = Extent::first, second = Extent::second;
  friend bool operator==(const Cut&, const Cut&) = default;
};
struct Move {
  Extent from = Extent::plain, to = Extent::plain;
};

inline constexpr std::size_t kMaxOperands = 3;

struct Ref {
  int term = -1;
  Labels labels;
  explicit operator bool() const { return term >= 0; }  // false: the term has no meaning for these axes
  friend bool operator==(const Ref&, const Ref&) = default;
};

struct Node {
  Op op = Op::variable;
  ir::Element element{};  // the element type of the result; rules have one for all terms
  Label axis = kNoLabel;
  std::int32_t attribute = 0;  // which variable, function, reduction, move or cut it is, how a product multiplies
  LabelSet kept = 0;
  std::array<Ref, kMaxOperands> in;
  friend bool operator==(const Node&, const Node&) = default;
};

struct NodeHash {
  std::size_t operator()(const Node&) const;
};

/// A node in canonical form, and the canonical label of each label of the node as it was.
struct CanonicalNode {
  Node node;
  std::array<Label, kMaxLabels> renamed;
  /// The slots of the node's term, in the labels of the node as it was.
  Labels slots(LabelSet kept) const;
};

CanonicalNode canonical(const Node&);

inline int operands_of(const Node& n) {
  int count = 0;
  while (count < static_cast<int>(kMaxOperands) && n.in[static_cast<std::size_t>(count)]) ++count;
  return count;
}

/// Calls `act` with each label that a node's operands have, again for each operand.
template <class Act>
void for_labels(const Node& n, Act&& act) {
  for (int i = 0; i < operands_of(n); ++i)
    for (Label l : n.in[static_cast<std::size_t>(i)].labels) act(l);
}

/// The node with `rename` applied to all labels.
template <class Rename>
Node with_labels(Node n, Rename&& rename) {
  LabelSet kept = 0;
  for_each(n.kept, [&](Label l) { kept |= set_of(rename(l)); });
  n.kept = kept;
  if (n.axis != kNoLabel) n.axis = rename(n.axis);
  for (int i = 0; i < operands_of(n); ++i)
    for (Label& l : n.in[static_cast<std::size_t>(i)].labels) l = rename(l);
  return n;
}

/// Whether a product, or a sum, sums over an axis.
inline bool sums_an_axis(const Node& n) {
  LabelSet axes = 0;
  for (int i = 0; i < operands_of(n); ++i) axes |= n.in[static_cast<std::size_t>(i)].labels.set();
  return (axes & ~n.kept) != 0;
}

/// All terms in use, each once. Operands come before what is made of them.
class TermTable {
 public:
  /// A table of terms of rules, which have one cut and one move.
  TermTable() : cuts_(1), moves_(1) {}
  /// A table of terms of a graph: none has more axes than this; cuts and moves are added. attribute_of_sums: the attribute of products that
  /// rules make of a sum and of products that sum nothing, whose attribute is 0. If rules combine such products with others, all get the
  /// attribute of the others.
  TermTable(int most_axes, int attribute_of_sums) : most_axes_(most_axes), attribute_of_sums_(attribute_of_sums) {}

  int attribute_of_sums() const { return attribute_of_sums_; }

  int add_cut(const Cut&);
  int add_move(const Move&);
  const Cut& cut(int number) const { return cuts_[static_cast<std::size_t>(number)]; }

  /// A variable with an axis for each extent; its labels are 0, 1, ...
  Ref variable(int index, std::span<const Extent> extents, ir::Element = {});
  /// Each of these returns no term if an operand is none, if the axes do not fit, or if there are too many. The result has the element type
  /// of the first operand where none is given.
  Ref product(const Ref& a, const Ref& b, LabelSet kept, int attribute = 0);
  Ref product(Ref a, Ref b, LabelSet kept, int attribute, ir::Element);
  Ref sum(const Ref& a, LabelSet kept);
  Ref add(const Ref& a, const Ref& b);
  Ref function(const Ref& a, int attribute = 0);
  Ref function(std::span<const Ref> operands, int attribute, ir::Element);
  Ref reduce(const Ref& a, LabelSet kept, int attribute);
  Ref view(const Ref& a, Label axis, int move = 0);
  Ref cat(const Ref& a, const Ref& b, Label axis, int cut = 0);
  Ref part(Op, const Ref& a, Label axis, int cut = 0);
  /// The term of a node whose axes fit.
  Ref insert(const Node&);

  int size() const { return static_cast<int>(nodes_.size()); }
  const Node& node(int term) const { return nodes_[static_cast<std::size_t>(term)]; }
  ir::Element element(const Ref& r) const { return node(r.term).element; }
  Extent extent(int term, int slot) const { return extents_[static_cast<std::size_t>(term)][static_cast<std::size_t>(slot)]; }
  /// The extent of a label of a reference that has it.
  Extent extent(const Ref& r, Label l) const { return extent(r.term, r.labels.slot_of(l)); }
  /// The slots of a term, in the labels of its node.
  Labels slots(int term) const { return slots_[static_cast<std::size_t>(term)]; }

 private:
  bool fit(const Ref& a, const Ref& b, Label except = kNoLabel) const;
  bool are_too_many(LabelSet) const;

  using Extents = std::array<Extent, kMaxSlots>;
  int most_axes_ = kMaxSlots, attribute_of_sums_ = 0;
  std::vector<Cut> cuts_;
  std::vector<Move> moves_;
  std::vector<Node> nodes_;
  std::vector<Labels> slots_;
  std::vector<Extents> extents_;
  std::unordered_map<Node, int, NodeHash> terms_;
};

/// Adds a term to another table.
Ref copy(const TermTable& from, const Ref&, TermTable& to);

}  // namespace tilewright::passes::search
