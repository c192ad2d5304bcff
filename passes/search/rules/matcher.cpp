// Matching by backtracking over the members of classes.
#include "passes/search/rules/matcher.h"

namespace tilewright::passes::search {

Matcher::Matcher(const NodeSource& source, TermTable& terms, const Rule& rule, int side)
    : source_(source),
      terms_(terms),
      rule_(rule),
      pattern_(rule.equation.side(side)),
      other_sums_(has_op(rule.equation.side(1 - side), Op::sum) && !has_op(pattern_, Op::sum)),
      other_splits_(nests_sums(rule.equation.side(1 - side)) && !nests_sums(pattern_)),
      parents_(pattern_.size(), -1),
      visits_(pattern_.size()) {
  for (std::size_t i = 0; i < pattern_.size(); ++i)
    for (int operand : pattern_[i].in)
      if (operand >= 0) parents_[static_cast<std::size_t>(operand)] = static_cast<int>(i);
  for (std::size_t i = 0; i < pattern_.size(); ++i) {
    int depth = 0;
    for (int n = parents_[i]; n >= 0; n = parents_[static_cast<std::size_t>(n)]) ++depth;
    int& deepest = pattern_[i].op == Op::variable ? depth_of_variables_ : depth_;
    deepest = std::max(deepest, depth);
  }
}

bool Matcher::can_be(std::size_t node, int term) const {
  const Op op = pattern_[node].op;
  if (op == Op::variable) return true;
  const std::vector<Member>& members = source_.members(term);
  return std::any_of(members.begin(), members.end(), [&](const Member& m) { return m.node.op == op; });
}

void Matcher::start(const Ref& r) {
  const Ref root = source_.find(r);
  state_ = {};
  for (Label l = 0; l < kMaxLabels; ++l) state_.alias[l] = l;
  kept_ = root.labels.set();
  for (Label l : root.labels) state_.next = std::max<Label>(state_.next, l + 1);
  first_fresh_ = state_.next;
  visits_[0].ref = root;
  step(0);
}

void Matcher::step(std::size_t node) {
  if (node == pattern_.size()) return finish();
  const PatternNode& p = pattern_[node];
  const Ref here = visits_[node].ref;
  if (p.op == Op::variable) {
    Ref& variable = state_.variables[static_cast<std::size_t>(p.variable)];
    const State before = state_;
    if (!variable)
      variable = here;
    else if (!bind(variable, here))
      return;
    step(node + 1);
    state_ = before;
    return;
  }
  for (const Member& m : source_.members(here.term)) {
    if (m.node.op != p.op || operands_of(m.node) != operands_of(p.op)) continue;
    take(node, m, false);
    if (is_commutative(p.op) && !(m.node.in[0] == m.node.in[1])) take(node, m, true);
  }
}

void Matcher::take(std::size_t node, const Member& m, bool swapped) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(operands_of(m.node)); ++i)
    if (!can_be(static_cast<std::size_t>(pattern_[node].in[i]), m.node.in[swapped ? 1 - i : i].term)) return;
  const State before = state_;
  Visit& visit = visits_[node];
  std::array<Label, kMaxLabels> renamed;
  renamed.fill(kNoLabel);
  for (int s = 0; s < m.slots.size(); ++s) renamed[m.slots[s]] = visit.ref.labels[s];
  bool fits = true;
  for_labels(m.node, [&](Label l) {
    if (renamed[l] != kNoLabel) return;
    fits = fits && state_.next < kMaxLabels;
    if (!fits) return;
    state_.binder[state_.next] = static_cast<std::int8_t>(node);
    renamed[l] = state_.next++;
  });
  if (fits) {
    visit.node = with_labels(m.node, [&](Label l) { return renamed[l]; });
    Label& axis = m.node.op == Op::view ? state_.moved : state_.cut;
    if (has_axis(m.node.op)) {
      fits = axis == kNoLabel || axis == visit.node.axis;
      axis = visit.node.axis;
    }
    fits = fits && bind_attribute(visit.node);
  }
  if (fits) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(operands_of(m.node)); ++i)
      visits_[static_cast<std::size_t>(pattern_[node].in[i])].ref = visit.node.in[swapped ? 1 - i : i];
    if (swapped) std::swap(visit.node.in[0], visit.node.in[1]);
    step(node + 1);
  }
  state_ = before;
}

bool Matcher::bind_attribute(const Node& n) {
  const auto bind_to = [&](std::optional<std::int32_t>& bound) {
    if (!bound) bound = n.attribute;
    return *bound == n.attribute;
  };
  switch (n.op) {
    case Op::product: {
      const TermTable& terms = source_.terms();
      if (terms.element(n.in[0]) != n.element || terms.element(n.in[1]) != n.element) return false;
      if (!sums_an_axis(n)) return true;
      // A product that a rule made of a sum takes the attribute of the products around it.
      if (state_.product == terms.attribute_of_sums()) state_.product.reset();
      return (state_.product && n.attribute == terms.attribute_of_sums()) || bind_to(state_.product);
    }
    case Op::function: {
      const bool is_first = !state_.function;
      if (is_first) state_.function_element = n.element;
      return bind_to(state_.function) && state_.function_element == n.element;
    }
    case Op::view: return bind_to(state_.move);
    case Op::cat:
    case Op::part0:
    case Op::part1: return bind_to(state_.cut_number);
    case Op::variable:
    case Op::sum:
    case Op::add:
    case Op::reduce: break;
  }
  return true;
}

bool Matcher::are_in_different_addends(int a, int b) const {
  std::vector<int> above;
  for (int n = a; n >= 0; n = parents_[static_cast<std::size_t>(n)]) above.push_back(n);
  for (int n = b; n >= 0; n = parents_[static_cast<std::size_t>(n)])
    if (const auto at = std::find(above.begin(), above.end(), n); at != above.end()) {
      const Op op = pattern_[static_cast<std::size_t>(n)].op;
      return n != a && n != b && (op == Op::add || op == Op::cat);
    }
  return false;
}

bool Matcher::bind(const Ref& variable, const Ref& again) {
  if (variable.term != again.term) return false;
  for (int s = 0; s < variable.labels.size(); ++s) {
    const Label a = resolved(variable.labels[s]), b = resolved(again.labels[s]);
    if (a == b) continue;
    if (a < first_fresh_ || b < first_fresh_) return false;
    const std::int8_t first = state_.binder[a], second = state_.binder[b];
    const auto op = [&](int node) { return pattern_[static_cast<std::size_t>(node)].op; };
    if (!are_in_different_addends(first, second) || op(first) != op(second)) return false;
    for (Label& l : state_.alias)
      if (l == b) l = a;
  }
  return true;
}

Ref Matcher::resolved(const Ref& r) const {
  Ref result = r;
  for (Label& l : result.labels) l = resolved(l);
  return result;
}

void Matcher::finish() {
  Match match;
  match.binding.kept = kept_;
  match.binding.moved = state_.moved;
  const TermTable& terms = source_.terms();
  const bool is_f32 = terms.element(visits_[0].ref) == ir::Element::f32;
  match.binding.product = state_.product.value_or(is_f32 ? terms.attribute_of_sums() : 0);
  match.binding.function = state_.function.value_or(0);
  match.binding.function_element = state_.function_element;
  match.binding.move = state_.move.value_or(0);
  match.binding.cut_number = state_.cut_number.value_or(0);
  std::array<unsigned, kMaxLabels> having{};
  LabelSet whole = 0;  // the axes that may be the one that only the other side cuts
  for (std::size_t v = 0; v < rule_.equation.variables.size(); ++v) {
    if (!state_.variables[v]) continue;
    const Ref r = resolved(state_.variables[v]);
    match.binding.variables[v] = r;
    for (int s = 0; s < r.labels.size(); ++s) {
      if (r.labels.slot_of(r.labels[s]) != s) return;  // two axes of one variable have become one
      having[r.labels[s]] |= 1u << v;
      if (source_.terms().extent(r.term, s) == Extent::whole) whole |= set_of(r.labels[s]);
    }
  }
  const auto& base = rule_.conditions().base;
  const bool other_cuts =
      state_.cut == kNoLabel && std::any_of(base.begin(), base.end(), [](const AxisUse& use) { return use.role == Role::cut; });
  if (!other_cuts) return accept(match, having, state_.cut);
  for (Label l = 0; l < kMaxLabels; ++l)
    if (contains(whole, l)) accept(match, having, l);
}

void Matcher::accept(Match match, const std::array<unsigned, kMaxLabels>& having, Label cut) {
  match.binding.cut = cut;
  if (state_.moved != kNoLabel && state_.moved == cut) return;
  for (Label l = 0; l < kMaxLabels; ++l) {
    if (having[l] == 0) continue;
    const bool is_kept = l < first_fresh_;
    const Op binder = is_kept ? Op::variable : pattern_[static_cast<std::size_t>(state_.binder[l])].op;
    const Fate fate = is_kept ? Fate::kept : other_sums_ || binder == Op::sum ? Fate::summed_by_sum : Fate::summed_by_product;
    const Role role = l == state_.moved ? Role::moved : l == cut ? Role::cut : Role::plain;
    if (!rule_.conditions().allows(role, fate, having[l])) return;
    if (fate == Fate::summed_by_sum) match.binding.left_to_sum |= set_of(l);
  }
  match.found = build(0);
  matches_.push_back(match);
  if (!other_splits_) return;
  const LabelSet summed = match.binding.left_to_sum;
  for (LabelSet inside = (summed - 1) & summed; inside != 0; inside = (inside - 1) & summed) {
    match.binding.summed_inside = inside;
    matches_.push_back(match);
  }
}

Ref Matcher::build(std::size_t node) {
  const PatternNode& p = pattern_[node];
  if (p.op == Op::variable) return resolved(visits_[node].ref);
  Node n = with_labels(visits_[node].node, [&](Label l) { return resolved(l); });
  for (std::size_t i = 0; i < static_cast<std::size_t>(operands_of(p.op)); ++i) n.in[i] = build(static_cast<std::size_t>(p.in[i]));
  return terms_.insert(n);
}

}  // namespace tilewright::passes::search
