// Guards and licences of the rules.
#include "passes/search/saturate/saturate.h"

#include <algorithm>

#include "passes/search/rules/rule_text.h"
#include "passes/search/rules/search_rules.h"
#include "passes/search/saturate/known_terms.h"

namespace tilewright::passes::search {
namespace {

bool is_arithmetic(const Equation& e) {
  for (Op op : {Op::product, Op::sum, Op::add})
    if (has_op(e.left, op) || has_op(e.right, op)) return true;
  return false;
}

/// Whether sums and products of this type may be taken in another order.
bool may_reassociate(ir::Element e) {
  return ir::is_integer(e) || e == ir::Element::bf16 || e == ir::Element::f32 || e == ir::Element::f64;
}

}  // namespace

SaturatedGraph::SaturatedGraph(const graph::Graph& written, GraphTerms& all, const SearchLimits& limits)
    : all_(all), saturation_(all.terms, search_rules(), search_directions(search_rules())) {
  const std::vector<Rule>& rules = search_rules();
  std::vector<bool> arithmetic, spreads;
  for (const Rule& r : rules) {
    arithmetic.push_back(is_arithmetic(r.equation));
    spreads.push_back(spreads_differences(r.equation));
  }
  KnownTerms known(written, all);
  int updated = -1;  // the round for which the classes that are known are up to date
  saturation_.search_where([&](const Direction& d, int root) {
    if (updated != rounds()) known.update(classes()), updated = rounds();
    if (known.is_known_class(root)) return false;
    return !arithmetic[static_cast<std::size_t>(d.rule)] || may_reassociate(all_.terms.node(root).element);
  });
  saturation_.use_if([&](const Direction& d, const Match& m) {
    const auto rule = static_cast<std::size_t>(d.rule);
    return limits.expand_differences || d.side == 1 || !spreads[rule] || is_allowed(rules[rule], d.side, m);
  });
  saturation_.on_added([&](int, int root) { all_.origins.push_back(all_.origins[static_cast<std::size_t>(root)]); });
  is_complete_ = saturation_.run({limits.nodes, limits.rounds}, [] { return false; }) == Saturation::Outcome::complete;
}

// Nodes that were added on the searched side do not count as a difference.
bool SaturatedGraph::is_allowed(const Rule& rule, int side, const Match& match) const {
  const Pattern& p = rule.equation.side(side);
  return std::none_of(p.begin(), p.end(), [&](const PatternNode& n) {
    if (n.op != Op::add) return false;
    return std::any_of(n.in.begin(), n.in.end(), [&](int operand) {
      const PatternNode& addend = p[static_cast<std::size_t>(operand)];
      return addend.op == Op::variable && is_negated(match.binding.variables[static_cast<std::size_t>(addend.variable)]);
    });
  });
}

bool SaturatedGraph::is_negative_number(const Ref& r) const {
  const auto& members = classes().members(classes().find(r).term);
  return std::any_of(members.begin(), members.end(), [&](const Member& m) {
    if (m.node.op != Op::variable) return false;
    const Leaf& leaf = all_.leaves[static_cast<std::size_t>(m.node.attribute)];
    const bool is_signed = ir::is_float(m.node.element) || ir::is_signed(m.node.element);
    return leaf.kind == Leaf::Kind::number && is_signed && (leaf.bits >> (ir::bits(m.node.element) - 1) & 1) != 0;
  });
}

bool SaturatedGraph::is_negated(const Ref& r) const {
  const auto& members = classes().members(classes().find(r).term);
  return std::any_of(members.begin(), members.end(), [&](const Member& m) {
    return m.node.op == Op::product && (is_negative_number(m.node.in[0]) || is_negative_number(m.node.in[1]));
  });
}

}  // namespace tilewright::passes::search
