// Builds labelled terms of formulas without labels.
#include "passes/search/rules/instance.h"

namespace tilewright::passes::search {
namespace {

class Builder {
 public:
  Builder(TermTable& terms, const Pattern& pattern, const Binding& binding)
      : terms_(terms), pattern_(pattern), binding_(binding), left_to_sum_(has_op(pattern, Op::sum) ? binding.left_to_sum : 0) {}

  Ref build() {
    const Ref r = build(0, binding_.kept | left_to_sum_);
    return r && r.labels.set() == binding_.kept ? r : Ref{};
  }

 private:
  const PatternNode& at(int node) const { return pattern_[static_cast<std::size_t>(node)]; }

  /// `needed`: the axes that no product below may sum.
  Ref build(int node, LabelSet needed) {
    const PatternNode& n = at(node);
    const auto operand = [&](std::size_t i) { return build(n.in[i], needed); };
    switch (n.op) {
      case Op::variable: return binding_.variables[static_cast<std::size_t>(n.variable)];
      case Op::product: {
        const LabelSet first = axes(n.in[0]), second = axes(n.in[1]);
        const Ref a = build(n.in[0], needed | second | (first & ~total_axes(n.in[0])));
        const Ref b = build(n.in[1], needed | first | (second & ~total_axes(n.in[1])));
        return terms_.product(a, b, needed, binding_.product);
      }
      case Op::sum:
        return terms_.sum(operand(0), ~(binding_.summed_inside != 0 && !has_sum_below(node) ? binding_.summed_inside : left_to_sum_));
      case Op::add: return terms_.add(operand(0), operand(1));
      case Op::function: {
        const Ref a = operand(0);
        return a ? terms_.function(std::span(&a, 1), binding_.function, binding_.function_element) : a;
      }
      case Op::reduce: TW_UNREACHABLE("rules have no reductions but sums");
      case Op::view: return terms_.view(operand(0), binding_.moved, binding_.move);
      case Op::cat: return terms_.cat(operand(0), operand(1), binding_.cut, binding_.cut_number);
      case Op::part0:
      case Op::part1: return terms_.part(n.op, operand(0), binding_.cut, binding_.cut_number);
    }
    return {};
  }

  bool has_sum_below(int node) const {
    return std::ranges::any_of(at(node).in, [&](int i) { return i >= 0 && (at(i).op == Op::sum || has_sum_below(i)); });
  }
  /// The axes of all variables below a node.
  LabelSet axes(int node) const {
    const PatternNode& n = at(node);
    if (n.op == Op::variable) return binding_.variables[static_cast<std::size_t>(n.variable)].labels.set();
    return axes(n.in[0]) | (n.in[1] >= 0 ? axes(n.in[1]) : 0);
  }
  /// The axes of a node, without those that one of several addends lacks.
  LabelSet total_axes(int node) const {
    const PatternNode& n = at(node);
    if (n.op == Op::add) return total_axes(n.in[0]) & total_axes(n.in[1]);
    return axes(node);
  }

  TermTable& terms_;
  const Pattern& pattern_;
  const Binding& binding_;
  LabelSet left_to_sum_;
};

}  // namespace

Ref instantiate(TermTable& terms, const Pattern& pattern, const Binding& binding) { return Builder(terms, pattern, binding).build(); }

}  // namespace tilewright::passes::search
