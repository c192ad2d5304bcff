// Writes nodes from the outside to the inside.
#include "passes/search/choose/formula_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "passes/search/thresholds.h"
#include "tileir/builder.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/op_info.h"
#include "tileir/text/print_format.h"

namespace tilewright::passes::search {
namespace {

constexpr Label kFirstFresh = 64, kLastFresh = 250;

/// The order of a label among the axes of a factor. Labels that products sum are the last axes of left factors and the first axes of right
/// factors, with the latest label outermost.
int order_of(Label l, bool is_right) { return l < kFirstFresh || !is_right ? l : -l; }

/// The first label that only the first of two references has.
int first_own_order(const Ref& a, const Ref& b, bool is_right) {
  int first = kLastFresh + 1;
  for (Label l : a.labels)
    if (b.labels.slot_of(l) < 0) first = std::min(first, order_of(l, is_right));
  return first;
}

}  // namespace

std::string FormulaText::of(const Ref& r) {
  fresh_ = kFirstFresh;
  written_ = 0;
  is_right_ = false;
  return part(choice_.source.find(r)).text;
}

/// The chosen node in labels of the reference; what it sums has fresh labels. Operands are classes.
Node FormulaText::expanded(const Ref& r) {
  const Member& m = choice_.member(r.term);
  std::array<Label, kMaxLabels> named;
  named.fill(kNoLabel);
  for (int s = 0; s < m.slots.size(); ++s) named[m.slots[s]] = r.labels[s];
  Node n = m.node;
  for (int i = 0; i < operands_of(n); ++i) {
    Ref& operand = n.in[static_cast<std::size_t>(i)];
    for (Label& l : operand.labels) {
      if (named[l] == kNoLabel) named[l] = fresh_ = fresh_ == kLastFresh ? kFirstFresh : static_cast<Label>(fresh_ + 1);
      l = named[l];
    }
  }
  for (int i = 0; i < operands_of(n); ++i) n.in[static_cast<std::size_t>(i)] = choice_.source.find(n.in[static_cast<std::size_t>(i)]);
  return n;
}

const Leaf* FormulaText::leaf_of(const Ref& r) const { return all_.leaf(choice_.member(r.term).node); }

bool FormulaText::is_minus_one(const Ref& r) const {
  const ir::Element e = all_.terms.element(r);
  const Leaf* leaf = leaf_of(r);
  if (!leaf || leaf->kind != Leaf::Kind::number || e == ir::Element::boolean) return false;
  return leaf->bits == (ir::is_float(e) ? ir::element_bits(e, -1.0) : ir::element_bits(e, std::int64_t{-1}));
}

std::string FormulaText::inside(const Ref& r, Level least) {
  const Part p = part(r);
  return p.level < least ? fmt::format("({})", p.text) : p.text;
}

std::string FormulaText::list(const Node& n) {
  std::vector<std::string> texts;
  for (int i = 0; i < operands_of(n); ++i) texts.push_back(inside(n.in[static_cast<std::size_t>(i)], Level::sum));
  return fmt::format("{}", fmt::join(texts, ", "));
}

FormulaText::Part FormulaText::part(const Ref& r) {
  if (std::string name = name_(r.term); !name.empty()) return {std::move(name), Level::factor};
  if (++written_ > kMostNodesOfText) return {"..."};
  const Node n = expanded(r);
  switch (n.op) {
    case Op::variable: {
      const Leaf& leaf = *all_.leaf(n);
      if (leaf.kind == Leaf::Kind::number) return {ir::element_text(ir::Type(n.element), leaf.bits)};
      return {leaf.kind == Leaf::Kind::ones ? "1" : leaf.kind == Leaf::Kind::iota ? "iota" : "..."};
    }
    case Op::product: return product(r, n);
    case Op::add: return add(r, n);
    case Op::sum: return reduced("sum", n);
    case Op::reduce: return reduced(graph::text(static_cast<graph::Combine>(n.attribute)), n);
    case Op::function: {
      const auto function = static_cast<ir::OpKind>(n.attribute);
      if (function == ir::OpKind::div_ && operands_of(n) == 1) return {"1 / " + inside(n.in[0], Level::factor), Level::product};
      return {fmt::format("{}({})", ir::text(function), list(n))};
    }
    case Op::view: {
      const graph::Op op = all_.views[static_cast<std::size_t>(n.attribute)].op;
      const std::string moved = fmt::format("{}({})", graph::text(op), list(n));
      return {op == graph::Op::window ? "sum(" + moved + ")" : moved};
    }
    case Op::cat: return {fmt::format("[{} | {}]", inside(n.in[0], Level::sum), inside(n.in[1], Level::sum))};
    case Op::part0:
    case Op::part1: return {fmt::format("{}({})", n.op == Op::part0 ? "part0" : "part1", list(n))};
  }
  return {};
}

/// The axes that are reduced are taken to be the first ones.
FormulaText::Part FormulaText::reduced(std::string_view name, const Node& n) {
  const bool was_right = is_right_;
  is_right_ = true;
  Part p{fmt::format("{}({})", name, list(n))};
  is_right_ = was_right;
  return p;
}

FormulaText::Part FormulaText::product(const Ref& r, const Node& n) {
  Ref a = n.in[0], b = n.in[1];
  for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
    const Leaf* leaf = leaf_of(x);
    if (leaf && leaf->kind == Leaf::Kind::ones && name_(x.term).empty()) return part(y);
    if (is_minus_one(x)) return {"-" + inside(y, Level::factor), Level::product};
  }
  for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)})
    if (std::optional<Part> p = quotient(x, y)) return *std::move(p);
  if (are_exchanged(r, a, b)) std::swap(a, b);
  // The axes of a scaling are those of the product that it is a factor of. The chosen node is asked, because n has fresh labels, which no
  // set of labels has room for.
  const bool was_right = is_right_, is_scaling = !sums_an_axis(choice_.member(r.term).node);
  is_right_ = is_scaling && was_right;
  const std::string first = inside(a, Level::factor);
  is_right_ = !is_scaling || was_right;
  const std::string second = inside(b, Level::factor);
  is_right_ = was_right;
  return {first + " " + second, Level::product};
}

/// x times y, if y is the reciprocal of a value.
std::optional<FormulaText::Part> FormulaText::quotient(const Ref& x, const Ref& y) {
  const Node& chosen = choice_.member(y.term).node;
  const bool is_reciprocal =
      chosen.op == Op::function && static_cast<ir::OpKind>(chosen.attribute) == ir::OpKind::div_ && operands_of(chosen) == 1;
  if (!is_reciprocal || !name_(y.term).empty()) return std::nullopt;
  const std::string numerator = inside(x, Level::product);
  return Part{numerator + " / " + inside(expanded(y).in[0], Level::factor), Level::product};
}

/// Whether b is written before a in a product that the user has not written: numbers come first, and then the factor that has the first
/// axis of the result.
bool FormulaText::are_exchanged(const Ref& of, const Ref& a, const Ref& b) const {
  if (const std::optional<bool> is_first = is_written_before(of, b, a)) return *is_first;
  const auto rank = [&](const Ref& x, const Ref& other) {
    return x.labels.size() == 0 ? -kLastFresh - 1 : first_own_order(x, other, is_right_);
  };
  return rank(b, a) < rank(a, b);
}

/// None unless they are the two operands of the call whose value `of` is.
std::optional<bool> FormulaText::is_written_before(const Ref& of, const Ref& a, const Ref& b) const {
  const graph::Node& call = written_graph_.node(all_.origins[static_cast<std::size_t>(of.term)]);
  const auto position = [&](const Ref& x) {
    const auto is_operand = [&](graph::NodeId n) {
      const std::optional<Value>& v = all_.values[n.index];
      return v && choice_.source.find(v->ref).term == x.term;
    };
    return std::find_if(call.operands.begin(), call.operands.end(), is_operand) - call.operands.begin();
  };
  const std::ptrdiff_t first = position(a), second = position(b), count = std::ssize(call.operands);
  if (first == second || first == count || second == count) return std::nullopt;
  return first < second;
}

FormulaText::Part FormulaText::add(const Ref& r, const Node& n) {
  for (const auto& [x, y] : {std::pair(n.in[0], n.in[1]), std::pair(n.in[1], n.in[0])}) {
    if (!name_(y.term).empty()) continue;
    const Node negated = expanded(y);
    if (negated.op != Op::product) continue;
    for (std::size_t i = 0; i < 2; ++i)
      if (is_minus_one(negated.in[i])) {
        const std::string first = inside(x, Level::sum);
        return {first + " - " + inside(negated.in[1 - i], Level::product), Level::sum};
      }
  }
  Ref a = n.in[0], b = n.in[1];
  if (is_written_before(r, b, a).value_or(false)) std::swap(a, b);
  const std::string first = inside(a, Level::sum);
  return {first + " + " + inside(b, Level::sum), Level::sum};
}

}  // namespace tilewright::passes::search
