// Makes conditions, masks and choices in normal form.
#include <algorithm>

#include "passes/fusion/expr/hidden_maxima.h"
#include "passes/fusion/expr/normal_form.h"
#include "passes/fusion/expr/products.h"

namespace tilewright::passes::fusion {

using ir::Element;

Expr ExprBuilder::at_least_zero(Expr e) {
  if (e->is(ExprKind::number)) return truth(!e->number.is_negative());
  return make(ExprKind::at_least_zero, {e}, Element::boolean);
}

Expr ExprBuilder::equal(Expr a, Expr b) {
  std::vector<Expr> both{a, b};
  std::sort(both.begin(), both.end(), by_key);
  return make(ExprKind::equal, std::move(both), Element::boolean);
}

Expr ExprBuilder::truth(bool holds) { return make(ExprKind::at_least_zero, {holds ? zero_ : number(-1)}, Element::boolean); }

Expr ExprBuilder::is_positive(const Dim& d) { return d.least() >= 1 ? truth(true) : at_least_zero(extent(d - Dim(1))); }

Expr ExprBuilder::have_positions(const AxisSet& axes) {
  std::vector<Expr> conditions;
  for (Axis a : axes) conditions.push_back(is_positive(a->extent));
  return conjunction(conditions);
}

Expr ExprBuilder::conjunction(std::span<const Expr> conditions) {
  std::vector<Expr> all;
  for (Expr c : conditions)
    for (Expr x : conjuncts(c)) {
      if (x == truth(false)) return x;
      if (x != truth(true)) all.push_back(x);
    }
  if (all.empty()) return truth(true);
  std::sort(all.begin(), all.end(), by_key);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() == 1) return all[0];
  return make(ExprKind::conjunction, std::move(all), Element::boolean);
}

Expr ExprBuilder::negation(Expr condition) {
  if (condition->is(ExprKind::negation)) return condition->operands[0];
  // not (e >= 0)  ->  -e - 1 >= 0
  if (condition->is(ExprKind::at_least_zero)) return at_least_zero(add({scale(-1, condition->operands[0]), number(-1)}));
  return make(ExprKind::negation, {condition}, Element::boolean);
}

Expr ExprBuilder::indicator(Expr condition, Element element) {
  if (condition == truth(true)) return one_;
  if (condition == truth(false)) return zero_;
  return multiply(1, {{make(ExprKind::indicator, {condition}, element), 1}});
}

Expr ExprBuilder::mask(Expr condition, const AxisSet& hides, Element element, std::optional<std::vector<Tensor>> hidden_tensors) {
  ExprData e;
  e.kind = ExprKind::indicator;
  e.element = element;
  e.operands = {condition};
  e.hides = hides;
  e.hidden_tensors = std::move(hidden_tensors);
  return pool_.intern(std::move(e));
}

// A mask with the axes of all that it hides belongs to the same operand of a product as they do.
std::vector<Factor> ExprBuilder::masks_of(Expr condition, Expr value, Element element) {
  AxisSet hidden;
  std::vector<AxisSet> parts;
  for (const Factor& f : factors(value)) {
    if (finiteness(f) == Finite::always) continue;
    hidden.insert(f.base->axes);
    parts.push_back(f.base->axes);
  }
  std::vector<Factor> all;
  for (Expr c : conjuncts(condition)) {
    if (c == truth(true)) continue;
    const bool is_own = std::all_of(parts.begin(), parts.end(), [&](const AxisSet& axes) { return axes == c->axes; });
    all.push_back({mask(c, is_own ? AxisSet() : hidden, element), 1});
  }
  return all;
}

namespace {

// The tensors that values under a mask of a product read, by name.
void add_hidden_tensors(const Factor& mask, const std::vector<Factor>& product, std::map<std::string_view, Tensor>& to) {
  const auto add = [&](Tensor t) { to.emplace(t->name, t); };
  if (mask.base->hidden_tensors) {
    std::ranges::for_each(*mask.base->hidden_tensors, add);
    return;
  }
  for (const Factor& f : product)
    if (!is_mask(f)) std::ranges::for_each(tensors_of(f.base), add);
}

}  // namespace

Expr ExprBuilder::product_of_written(Expr x, Expr y) {
  const Expr result = product({x, y});
  if (!result->is(ExprKind::mul) || !std::ranges::any_of(result->factors, is_mask)) return result;
  std::vector<Factor> all = result->factors;
  for (Factor& f : all) {
    if (!is_mask(f)) continue;
    std::map<std::string_view, Tensor> hidden;
    for (Expr side : {x, y}) {
      const std::vector<Factor> own = factors(side);
      for (const Factor& mask : own) {
        const std::vector<Expr> conditions = is_mask(mask) ? conjuncts(mask.base->operands[0]) : std::vector<Expr>();
        if (std::ranges::find(conditions, f.base->operands[0]) != conditions.end()) add_hidden_tensors(mask, own, hidden);
      }
    }
    std::vector<Tensor> tensors;
    for (const auto& [name, tensor] : hidden) tensors.push_back(tensor);
    const Factor own{mask(f.base->operands[0], f.base->hides, f.base->element, std::move(tensors)), 1};
    const auto is_looked_at = [&](const Factor& g) { return !is_mask(g) && hides(f, g) && !hides(own, g); };
    if (std::ranges::any_of(result->factors, is_looked_at)) f = own;
  }
  return multiply(result->number, all);
}

Expr ExprBuilder::select(Expr condition, Expr value, Expr other, Element element) {
  if (value == other || condition == truth(true)) return value;
  if (condition == truth(false)) return other;
  // A mask hides where its condition does not hold.
  if (value->is_negative_infinity()) return select(negation(condition), other, value, element);
  if (condition->is(ExprKind::negation) && !other->is_negative_infinity()) return select(condition->operands[0], other, value, element);
  // m ? (n ? a : b) : b = m and n ? a : b
  if (value->is(ExprKind::select) && value->operands[2] == other)
    return select(conjunction({condition, value->operands[0]}), value->operands[1], other, element);
  if (value->element == Element::boolean) return make(ExprKind::select, {condition, value, other}, Element::boolean);
  // Positions are integers without a type, which 64 bits hold.
  if (ir::is_integer(element) || is_integer(value) || is_integer(other))
    return make(ExprKind::select, {condition, value, other}, ir::is_integer(element) ? element : Element::i64);
  const Expr both[] = {value, other};
  const Element common = element == Element::f64 ? Element::f64 : common_element(both);
  // m ? a : 0 = [m] a, if a is finite where m does not hold: 0 times infinity is not 0.
  const auto masked = [&](Expr x, Expr holds) {
    std::vector<Factor> all = masks_of(holds, x, common);
    all.push_back({x, 1});
    return multiply(1, all);
  };
  if (other == zero_) value = without_guards_under(*this, value, condition);
  if (other == zero_ && value->finite != Finite::unknown) return masked(value, condition);
  if (value == zero_ && other->finite != Finite::unknown) return masked(other, negation(condition));
  if (other == zero_ && value->is(ExprKind::mul) && !value->number.is_one() && !value->number.is_zero())
    return scale(value->number, select(condition, multiply(1, value->factors), other, element));
  return make(ExprKind::select, {condition, value, other}, common);
}

}  // namespace tilewright::passes::fusion
