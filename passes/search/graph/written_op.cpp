// Looks through chosen nodes.
#include "passes/search/graph/written_op.h"

#include <optional>

#include "passes/search/thresholds.h"
#include "tileir/builder.h"

namespace tilewright::passes::search {
namespace {

using graph::Combine;
using ir::OpKind;
using Kind = WrittenOp::Kind;

class Reader {
 public:
  Reader(const GraphTerms& all, const Choice& choice) : all_(all), choice_(choice) {}

  WrittenOp read(int root) const {
    const Node n = choice_.member(root).node;
    const Ref a = found(n.in[0]), b = found(n.in[1]);
    switch (n.op) {
      case Op::variable: return {.kind = Kind::leaf};
      case Op::product: return product(n, a, b);
      case Op::add: return add(a, b);
      case Op::sum: return sum(n, a);
      case Op::reduce: return {.kind = Kind::reduce, .combine = static_cast<Combine>(n.attribute), .operands = {a}};
      case Op::function: return function(n, a);
      case Op::view: return {.kind = Kind::view, .axis = n.axis, .operands = {a}};
      case Op::cat: return cat(n, a, b);
      case Op::part0:
      case Op::part1: return part(n, a);
    }
    TW_UNREACHABLE("an op of terms");
  }

 private:
  Ref found(const Ref& r) const { return r ? choice_.source.find(r) : r; }

  /// The chosen node of a reference, in labels of the reference; kNoLabel for labels that the node sums.
  Node node_of(const Ref& r) const {
    const Member& m = choice_.member(r.term);
    std::array<Label, kMaxLabels> named;
    named.fill(kNoLabel);
    for (int s = 0; s < m.slots.size(); ++s) named[m.slots[s]] = r.labels[s];
    Node n = m.node;
    if (n.axis != kNoLabel) n.axis = named[n.axis];
    for (int i = 0; i < operands_of(n); ++i)
      for (Label& l : n.in[static_cast<std::size_t>(i)].labels) l = named[l];
    for (Ref& operand : n.in) operand = found(operand);
    return n;
  }
  const Leaf* leaf_of(const Ref& r) const { return all_.leaf(choice_.member(r.term).node); }
  bool is_leaf(const Ref& r, Leaf::Kind kind) const {
    const Leaf* leaf = leaf_of(r);
    return leaf && leaf->kind == kind;
  }
  bool is_minus_one(const Ref& r) const {
    const ir::Element e = all_.terms.element(r);
    const std::uint64_t bits = ir::is_float(e) ? ir::element_bits(e, -1.0) : ir::element_bits(e, std::int64_t{-1});
    return e != ir::Element::boolean && is_leaf(r, Leaf::Kind::number) && leaf_of(r)->bits == bits;
  }

  /// x where r is -1 * x.
  Ref negated(const Ref& r) const {
    const Node n = node_of(r);
    if (n.op != Op::product) return {};
    for (std::size_t i = 0; i < 2; ++i)
      if (is_minus_one(n.in[i]) && n.in[1 - i].labels.size() == r.labels.size()) return n.in[1 - i];
    return {};
  }
  /// x where r is the reciprocal of x.
  Ref inverted(const Ref& r) const {
    const Node n = node_of(r);
    return n.op == Op::function && n.attribute == static_cast<int>(OpKind::div_) && !n.in[1] ? n.in[0] : Ref{};
  }

  WrittenOp product(const Node& n, const Ref& a, const Ref& b) const {
    const WrittenOp einsum{.kind = Kind::einsum, .operands = {a, b}};
    if (((a.labels.set() | b.labels.set()) & ~n.kept) != 0) return einsum;
    for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)})
      if (is_leaf(y, Leaf::Kind::ones) && all_.terms.element(x) == n.element) return {.kind = Kind::broadcast, .operands = {x}};
    if (all_.terms.element(a) != n.element) return einsum;
    for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
      if (is_minus_one(y)) return {.kind = Kind::map, .function = OpKind::neg_, .operands = {x}};
      if (const Ref z = inverted(y)) return {.kind = Kind::map, .function = OpKind::div_, .operands = {x, z}};
    }
    return {.kind = Kind::map, .function = OpKind::mul_, .operands = {a, b}};
  }

  WrittenOp add(const Ref& a, const Ref& b) const {
    for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)})
      if (const Ref z = negated(y)) return {.kind = Kind::map, .function = OpKind::sub_, .operands = {x, z}};
    return {.kind = Kind::map, .function = OpKind::add_, .operands = {a, b}};
  }

  WrittenOp sum(const Node& n, const Ref& a) const {
    if (is_leaf(a, Leaf::Kind::ones)) return {.kind = Kind::number, .length = all_.dim(all_.terms.extent(a.term, 0))};
    bool has_one_element = true;
    for (Label l : a.labels) has_one_element &= contains(n.kept, l) || all_.dim(all_.terms.extent(a, l)) == Dim(1);
    if (has_one_element) return {.kind = Kind::reshape, .operands = {a}};
    return {.kind = Kind::reduce, .combine = Combine::sum, .operands = {a}};
  }

  WrittenOp function(const Node& n, const Ref& a) const {
    const auto function = static_cast<OpKind>(n.attribute);
    if (function == OpKind::div_ && operands_of(n) == 1) return {.kind = Kind::reciprocal, .operands = {a}};
    WrittenOp op{.kind = Kind::map, .function = function};
    for (int i = 0; i < operands_of(n); ++i) op.operands.push_back(found(n.in[static_cast<std::size_t>(i)]));
    return op;
  }

  WrittenOp cat(const Node& n, const Ref& a, const Ref& b) const {
    WrittenOp op{.kind = Kind::concat, .axis = n.axis};
    std::vector<Ref> last = {b};
    Ref first = a;
    while (last.size() + 1 < kMostPiecesOfConcat) {
      const Node inner = node_of(first);
      if (inner.op != Op::cat || inner.axis != n.axis) break;
      last.push_back(inner.in[1]);
      first = inner.in[0];
    }
    op.operands.push_back(first);
    op.operands.insert(op.operands.end(), last.rbegin(), last.rend());
    return pad(op).value_or(op);
  }

  /// The scalar that is broadcast to r, if there is one.
  Ref scalar(Ref r) const {
    while (r.labels.size() > 0) {
      const Node n = node_of(r);
      if (n.op != Op::product) return {};
      const bool first_is_ones = is_leaf(n.in[0], Leaf::Kind::ones);
      if (!first_is_ones && !is_leaf(n.in[1], Leaf::Kind::ones)) return {};
      r = n.in[first_is_ones ? 1 : 0];
    }
    return r;
  }

  std::optional<WrittenOp> pad(const WrittenOp& concat) const {
    if (concat.operands.size() > 3) return std::nullopt;
    WrittenOp op{.kind = Kind::pad, .axis = concat.axis};
    Ref value;
    for (const Ref& piece : concat.operands) {
      const Dim length = all_.dim(all_.terms.extent(piece, concat.axis));
      if (const Ref s = scalar(piece)) {
        if (value && !(value == s)) return std::nullopt;
        value = s;
        Dim& side = op.operands.empty() ? op.begin : op.end;
        if (!(side == Dim(0))) return std::nullopt;
        side = length;
      } else if (!op.operands.empty()) {
        return std::nullopt;
      } else {
        op.operands.push_back(piece);
      }
    }
    if (!value || op.operands.empty()) return std::nullopt;
    op.operands.push_back(value);
    return op;
  }

  WrittenOp part(const Node& n, const Ref& a) const {
    WrittenOp op{.kind = Kind::slice, .axis = n.axis};
    const auto length = [&](const Node& part, bool first) {
      const Cut& c = all_.terms.cut(part.attribute);
      return all_.dim(first ? c.first : c.second);
    };
    op.begin = n.op == Op::part0 ? Dim(0) : length(n, true);
    op.end = op.begin + length(n, n.op == Op::part0);
    Ref of = a;
    for (int i = 0; i < kMostPartsOfSlice; ++i) {
      const Node inner = node_of(of);
      if ((inner.op != Op::part0 && inner.op != Op::part1) || inner.axis != n.axis) break;
      if (inner.op == Op::part1) op.begin = op.begin + length(inner, true), op.end = op.end + length(inner, true);
      of = inner.in[0];
    }
    op.operands = {of};
    return op;
  }

  const GraphTerms& all_;
  const Choice& choice_;
};

}  // namespace

WrittenOp written_op(const GraphTerms& all, const Choice& choice, int root) { return Reader(all, choice).read(root); }

}  // namespace tilewright::passes::search
