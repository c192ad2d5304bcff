// Types, differences and neutral moves.
#include "passes/search/saturate/rule_guards.h"

#include <algorithm>
#include <tuple>

#include "passes/search/rules/rule_text.h"
#include "passes/search/rules/search_rules.h"
#include "tileir/graph/einsum.h"

namespace tilewright::passes::search {
namespace {

bool is_arithmetic(const Equation& e) {
  for (Op op : {Op::product, Op::sum, Op::add})
    if (has_op(e.left, op) || has_op(e.right, op)) return true;
  return false;
}

/// Whether sums and products of this type may be taken in another order. A type without products of itself, such as i8, whose products are
/// summed in i32, stays as written: its sum(a * b) has no form as one product.
bool may_reassociate(ir::Element e, bool move_rounding) {
  if (ir::is_integer(e)) return graph::is_product_element(e, e);
  return (move_rounding && e == ir::Element::bf16) || e == ir::Element::f32 || e == ir::Element::f64;
}

}  // namespace

RuleGuards::RuleGuards(const GraphTerms& all, const NodeSource& source, const SearchLimits& limits)
    : all_(all), source_(source), limits_(limits), multiples_(all, source), finite_(all) {
  for (const Rule& r : search_rules()) {
    arithmetic_.push_back(is_arithmetic(r.equation));
    spreads_.push_back(spreads_differences(r.equation));
  }
}

bool RuleGuards::may_apply(const Direction& d, ir::Element e) const {
  if (!arithmetic_[static_cast<std::size_t>(d.rule)] || may_reassociate(e, limits_.move_rounding)) return true;
  if (!ir::is_float(e)) return false;
  if (!limits_.all_types) refused_.type = e;
  return limits_.all_types;
}

bool RuleGuards::may_use(const Direction& d, const Match& m) const {
  const auto number = static_cast<std::size_t>(d.rule);
  const Rule& rule = search_rules()[number];
  if (!limits_.neutral_moves && is_neutral(rule, d.side, m)) return false;
  if (spreads_[number] && loses_infinities(rule, m)) return false;
  if (limits_.expand_differences || d.side == 1 || !spreads_[number] || is_allowed(rule, d.side, m)) return true;
  refused_.expands_differences = true;
  return false;
}

// Nodes that were added on the searched side do not count as a difference.
bool RuleGuards::is_allowed(const Rule& rule, int side, const Match& match) const {
  const Pattern& p = rule.equation.side(side);
  return std::none_of(p.begin(), p.end(), [&](const PatternNode& n) {
    if (n.op != Op::add) return false;
    return std::any_of(n.in.begin(), n.in.end(), [&](int operand) {
      const PatternNode& addend = p[static_cast<std::size_t>(operand)];
      return addend.op == Op::variable && multiples_.is_negated(match.binding.variables[static_cast<std::size_t>(addend.variable)]);
    });
  });
}

// One side has a sum of variables, and the other side multiplies each of them by the other variables.
bool RuleGuards::loses_infinities(const Rule& rule, const Match& match) const {
  const auto& variables = match.binding.variables;
  const Pattern& p = rule.equation.left;
  return std::any_of(p.begin(), p.end(), [&](const PatternNode& n) {
    if (n.op != Op::add) return false;
    const PatternNode &x = p[static_cast<std::size_t>(n.in[0])], &y = p[static_cast<std::size_t>(n.in[1])];
    if (x.op != Op::variable || y.op != Op::variable) return false;
    bool are_finite = true;
    for (int v = 0; v < static_cast<int>(rule.equation.variables.size()); ++v)
      if (v != x.variable && v != y.variable)
        are_finite = are_finite && finite_.holds(source_.find(variables[static_cast<std::size_t>(v)]).term);
    return !are_finite &&
           multiples_.are_opposite(variables[static_cast<std::size_t>(x.variable)], variables[static_cast<std::size_t>(y.variable)]);
  });
}

bool RuleGuards::is_neutral(const Rule& rule, int side, const Match& match) const {
  const auto& [a, b, c] = std::tie(match.binding.variables[0], match.binding.variables[1], match.binding.variables[2]);
  const LabelSet kept = match.binding.kept;
  const auto sums = [&](const Ref& x, const Ref& y, LabelSet needed) { return ((x.labels.set() | y.labels.set()) & ~needed) != 0; };
  // (a * b) * c and a * (b * c): the product that is formed is the inner product of the other side.
  if (rule.name == "order") return side == 0 ? !sums(b, c, kept | a.labels.set()) : !sums(a, b, kept | c.labels.set());
  if (rule.name == "add_order") return side == 0 ? !can_be_combined(b, c) : !can_be_combined(a, b);
  if (rule.name == "distribute" && side == 0) return !sums(a, b, kept) && !sums(a, c, kept);
  return false;
}

bool RuleGuards::can_be_combined(const Ref& a, const Ref& b) const {
  const auto is_factor = [&](const Ref& r) { return all_.terms.slots(r.term).size() > 0; };
  for (const Member& x : source_.members(source_.find(a).term))
    for (const Member& y : source_.members(source_.find(b).term)) {
      if (x.node.op != y.node.op) continue;
      if (x.node.op == Op::sum || has_axis(x.node.op)) return true;
      if (x.node.op != Op::product) continue;
      for (const Ref& p : {x.node.in[0], x.node.in[1]})
        for (const Ref& q : {y.node.in[0], y.node.in[1]})
          if (p.term == q.term && is_factor(p)) return true;
    }
  return false;
}

}  // namespace tilewright::passes::search
