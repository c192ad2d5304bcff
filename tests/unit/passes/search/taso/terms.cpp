// Terms, their text and values, and their enumeration.
#include "tests/unit/passes/search/taso/terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "passes/search/residues.h"

namespace tilewright::passes::search::taso {
namespace {

constexpr int kFewestRows = 5, kMostEnumerated = 2048;  // elements
constexpr Sizes kElsewhere{.rows = 4, .columns = 8, .images = 2, .channels = 4, .height = 6, .width = 7};
constexpr std::uint64_t kSeed = 1, kOtherSeed = 1000;

bool is_commutative(TasoOp op) { return op == TasoOp::ewadd || op == TasoOp::ewmul; }

}  // namespace

TasoOp op_of(const Node& n) {
  if (n.op == Op::add) return TasoOp::ewadd;
  return n.op == Op::product ? TasoOp::ewmul : static_cast<TasoOp>(n.attribute);
}

std::vector<Tensor> leaf_values(const Sizes& sizes, std::uint64_t seed) {
  std::vector<Tensor> values;
  for (const Leaf& leaf : leaves())
    values.push_back(leaf.constant ? constant(*leaf.constant, sizes) : random_tensor(shape_of(*leaf.kind, sizes), seed + values.size()));
  return values;
}

Ref Terms::insert(const Ref& r, const Shape& shape) {
  if (r.term == static_cast<int>(shapes_.size())) shapes_.push_back(shape);
  return r;
}

Ref Terms::leaf(int number, const Shape& shape) { return insert(table_.variable(number, {}), shape); }

Ref Terms::make(TasoOp op, const Ref& a, const Ref& b) {
  const int operands = operands_of(op);
  if (!a || (operands == 2 && !b)) return {};
  const std::optional<Shape> shape = result_shape(op, this->shape(a.term), this->shape(operands == 2 ? b.term : a.term));
  if (!shape) return {};
  if (op == TasoOp::ewadd) return insert(table_.add(a, b), *shape);
  if (op == TasoOp::ewmul) return insert(table_.product(a, b, 0), *shape);
  const Ref in[] = {a, b};
  return insert(table_.function(std::span(in, static_cast<std::size_t>(operands)), static_cast<int>(op), {}), *shape);
}

Ref Terms::copy(const Terms& from, int term) {
  const Node& n = from.table_.node(term);
  if (n.op == Op::variable) return leaf(n.attribute, from.shape(term));
  const Ref a = copy(from, n.in[0].term);
  return make(op_of(n), a, n.in[1] ? copy(from, n.in[1].term) : Ref{});
}

Ref Terms::parse(std::string_view source, const Sizes& sizes) {
  std::string_view rest = source;
  const Ref r = parse_at(rest, sizes);
  if (!r || !rest.empty()) throw std::runtime_error(fmt::format("'{}' is no term at '{}'", source, rest));
  return r;
}

Ref Terms::parse_at(std::string_view& rest, const Sizes& sizes) {
  const std::string_view word = rest.substr(0, rest.find_first_of("(), "));
  rest.remove_prefix(word.size());
  const auto take = [&](std::string_view expected) {
    const bool is_there = rest.starts_with(expected);
    if (is_there) rest.remove_prefix(expected.size());
    return is_there;
  };
  if (!take("(")) {
    const auto at = std::ranges::find(leaves(), word, &Leaf::name);
    if (at == leaves().end()) return {};
    const Shape shape = at->kind ? shape_of(*at->kind, sizes) : constant(*at->constant, sizes).shape;
    return leaf(static_cast<int>(at - leaves().begin()), shape);
  }
  const std::optional<TasoOp> op = taso_op(word);
  if (!op) return {};
  const Ref a = parse_at(rest, sizes), b = a && operands_of(*op) == 2 && take(", ") ? parse_at(rest, sizes) : Ref{};
  return a && take(")") ? make(*op, a, b) : Ref{};
}

std::string Terms::text(int term) const {
  const Node& n = table_.node(term);
  if (n.op == Op::variable) return leaves()[static_cast<std::size_t>(n.attribute)].name;
  return fmt::format("{}({}{})", name(op_of(n)), text(n.in[0].term), n.in[1] ? ", " + text(n.in[1].term) : "");
}

Tensor Terms::value(int term, const std::vector<Tensor>& by_leaf) const {
  const Node& n = table_.node(term);
  if (n.op == Op::variable) return by_leaf[static_cast<std::size_t>(n.attribute)];
  const Tensor a = value(n.in[0].term, by_leaf);
  return evaluate(op_of(n), a, n.in[1] ? value(n.in[1].term, by_leaf) : a);
}

void TasoOps::add_leaves(const Made& made) {
  std::vector<Tensor> values = leaf_values({}, kSeed);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Ref r = all_.leaf(static_cast<int>(i), values[i].shape);
    values_.push_back(std::move(values[i]));
    made(r);
  }
}

bool TasoOps::is_enumerated(TasoOp op, const Ref& a, const Ref& b) const {
  const Shape& shape = all_.shape(a.term);
  switch (op) {
    case TasoOp::conv:
    case TasoOp::conv_relu: return shape.extents[2] >= kFewestRows;
    case TasoOp::concat0:
    case TasoOp::concat1: return shape.elements() + all_.shape(b.term).elements() <= kMostEnumerated;
    default: return !is_commutative(op) || a.term <= b.term;
  }
}

void TasoOps::add(TasoOp op, const Ref& a, const Ref& b, const Made& made) {
  if (is_enumerated(op, a, b)) made(all_.make(op, a, b));
}

void TasoOps::extend(const Ref& a, const Made& made) {
  for (int op = 0; op < kTasoOps; ++op)
    if (operands_of(static_cast<TasoOp>(op)) == 1) add(static_cast<TasoOp>(op), a, {}, made);
}

void TasoOps::combine(const Ref& a, const Ref& b, const Made& made) {
  for (int op = 0; op < kTasoOps; ++op)
    if (operands_of(static_cast<TasoOp>(op)) == 2) add(static_cast<TasoOp>(op), a, b, made);
}

std::uint64_t TasoOps::fingerprint(const Ref& r) {
  const auto at = static_cast<std::size_t>(r.term);
  const Node& n = all_.table().node(r.term);
  Tensor made;
  if (n.op != Op::variable) {
    const auto operand = [&](std::size_t i) -> const Tensor& { return values_[static_cast<std::size_t>(n.in[n.in[i] ? i : 0].term)]; };
    made = evaluate(op_of(n), operand(0), operand(1));
  }
  const Tensor& value = n.op == Op::variable ? values_[at] : made;
  std::uint64_t h = value.shape.key();
  for (std::uint64_t v : value.values) h = scramble(h * 0x9E3779B97F4A7C15u + v);
  if (n.op != Op::variable) {
    values_.resize(at + 1);
    if (size(r.term) < max_ops_) values_[at] = std::move(made);
  }
  return h;
}

bool TasoOps::agree_elsewhere(const Ref& left, const Ref& right) {
  static const std::vector<Tensor> values = leaf_values(kElsewhere, kOtherSeed);
  const auto fits = [&](int term) {
    Terms there;
    const auto build = [&](auto& self, int t) -> Ref {
      const Node& n = all_.table().node(t);
      if (n.op == Op::variable) return there.leaf(n.attribute, values[static_cast<std::size_t>(n.attribute)].shape);
      const Ref a = self(self, n.in[0].term);
      return there.make(op_of(n), a, n.in[1] ? self(self, n.in[1].term) : Ref{});
    };
    return static_cast<bool>(build(build, term));
  };
  if (!fits(left.term) || !fits(right.term)) return false;
  const Tensor a = all_.value(left.term, values), b = all_.value(right.term, values);
  return a.shape == b.shape && a.values == b.values;
}

int TasoOps::kind(int variable) const {
  const auto& kind = leaves()[static_cast<std::size_t>(variable)].kind;
  return kind ? static_cast<int>(*kind) : -1;
}

int TasoOps::size(int term) const {
  const Node& n = all_.table().node(term);
  if (n.op == Op::variable) return 0;
  return 1 + size(n.in[0].term) + (n.in[1] ? size(n.in[1].term) : 0);
}

}  // namespace tilewright::passes::search::taso
