// Finds masks that compare the position in a sum with one outside of it.
#include "passes/fusion/cover/picked_values.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "passes/fusion/cover/replace_factors.h"
#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/integer_range.h"

namespace tilewright::passes::fusion {

namespace {

// The axes of a position that is made of parts, as row * columns + column: the fastest last. None if it has another form.
std::optional<std::vector<Axis>> parts_of(const ExprBuilder& b, Expr position, const AxisSet& bound) {
  std::vector<Term> terms = b.terms(position);
  for (const Term& t : terms)
    if (!t.value->is(ExprKind::index) || !bound.contains(t.value->axis)) return std::nullopt;
  std::sort(terms.begin(), terms.end(), [](const Term& x, const Term& y) { return x.coefficient > y.coefficient; });
  Rational step = 1;
  std::vector<Axis> axes;
  for (auto t = terms.rbegin(); t != terms.rend(); ++t) {
    const Axis a = t->value->axis;
    if (t->coefficient != step || (t + 1 != terms.rend() && !a->extent.is_constant())) return std::nullopt;
    axes.insert(axes.begin(), a);
    if (a->extent.is_constant()) step = step * Rational(a->extent.value());
  }
  return axes;
}

class PickedValue {
 public:
  PickedValue(ExprBuilder& b, ContainedReductions& held, Expr sum) : b_(b), held_(held), sum_(sum) {}

  // The sum without the axes along which a mask picks one element; none if there are no such axes.
  std::optional<Expr> read() {
    if (sum_->combine != graph::Combine::sum) return std::nullopt;
    const Expr body = sum_->operands[0];
    if (body->is(ExprKind::select)) {
      if (!body->operands[2]->is_number(0)) return std::nullopt;
      std::vector<Expr> conditions = conjuncts(body->operands[0]);
      for (std::size_t i = 0; i < conditions.size(); ++i)
        if (picks(conditions[i]) && is_cheap(body->operands[1])) {
          conditions.erase(conditions.begin() + static_cast<std::ptrdiff_t>(i));
          return rest(b_.select(b_.conjunction(conditions), body->operands[1], b_.zero(), body->element));
        }
      return std::nullopt;
    }
    const std::vector<Factor> factors = b_.factors(body);
    for (const Factor& mask : factors) {
      if (!is_mask(mask) || !picks(mask.base->operands[0])) continue;
      const auto is_picked = [&](const Factor& f) {
        return f == mask || !f.base->axes.intersects(picked_) || ((is_mask(f) || hides(mask, f)) && is_cheap(f.base));
      };
      if (std::all_of(factors.begin(), factors.end(), is_picked)) return rest(replace_factors(b_, body, {mask}, {}));
    }
    return std::nullopt;
  }

 private:
  // Whether a condition selects a single term of the sum; finds the axes, and the position along them.
  bool picks(Expr condition) {
    if (!condition->is(ExprKind::equal)) return false;
    for (const int i : {0, 1}) {
      const Expr along = condition->operands[i], position = condition->operands[1 - i];
      const std::optional<std::vector<Axis>> axes = parts_of(b_, along, sum_->bound);
      if (!axes || axes->empty()) continue;
      picked_ = {};
      for (Axis a : *axes) picked_.insert(a);
      if (picked_.size() != axes->size() || position->axes.intersects(picked_)) continue;
      set_position(*axes, position);
      return true;
    }
    return false;
  }

  void set_position(const std::vector<Axis>& axes, Expr position) {
    moved_.clear();
    Dim count = 1;
    for (Axis a : axes) count = count * a->extent;
    const Expr last = b_.extent(count - Dim(1));
    std::vector<Expr> inside{b_.at_least_zero(position), b_.at_least_zero(b_.subtract(last, position))};
    std::erase_if(inside, [](Expr c) { return holds(c) == true; });
    inside_ = b_.conjunction(inside);
    for (std::size_t i = axes.size(); i-- > 1;) {
      const Expr extent = b_.extent(axes[i]->extent);
      moved_[b_.index(axes[i])] = b_.function(ir::OpKind::rem_, {position, extent}, ir::Element::i64);
      position = b_.function(ir::OpKind::div_, {position, extent}, ir::Element::i64);
    }
    moved_[b_.index(axes[0])] = position;
  }

  // Whether each element is computed from few elements in memory.
  bool is_cheap(Expr value) { return !value->axes.intersects(picked_) || (!held_.holds_reduction(value) && !value->holds(ExprKind::scan)); }

  Expr rest(Expr body) {
    // In parts that lack the axes, their names have other meanings.
    ExprSet seen, without;
    walk_inwards(body, seen, [&](Expr e) {
      const bool has_axes = e->axes.intersects(picked_);
      if (!has_axes) without.insert(e);
      return has_axes;
    });
    const Expr there = b_.select(inside_, b_.substitute(body, moved_, without), b_.zero(), sum_->element);
    const AxisSet left = sum_->bound.without(picked_);
    return left.empty() ? there : b_.reduce(graph::Combine::sum, left, there, sum_->operand_element, sum_->element);
  }

  ExprBuilder& b_;
  ContainedReductions& held_;
  const Expr sum_;
  AxisSet picked_;
  Expr inside_;    // whether the position is one of the axes
  ExprMap moved_;  // the positions along the axes
};

}  // namespace

Expr read_picked(ExprBuilder& b, ContainedReductions& held, Expr output) {
  ExprMap replaced;
  ExprSet seen;
  walk_inwards(output, seen, [&](Expr e) {
    if (!held.holds_reduction(e)) return false;
    if (!e->is(ExprKind::reduce)) return true;
    const std::optional<Expr> read = PickedValue(b, held, e).read();
    if (!read) return true;
    replaced.emplace(e, *read);
    b.pool().copy_sources(e, *read);
    return false;
  });
  return replaced.empty() ? output : b.substitute(output, replaced);
}

}  // namespace tilewright::passes::fusion
