// Groups factors by those axes of the result that they have.
#include "passes/fusion/expr/products.h"

#include <algorithm>

#include "passes/fusion/expr/expr_walk.h"

namespace tilewright::passes::fusion {

bool is_product(const std::vector<Factor>& factors, const AxisSet& along) {
  std::vector<AxisSet> groups;
  for (const Factor& f : factors) {
    const AxisSet own = f.base->axes.without(along);
    if (f.base->axes.intersects(along) && !own.empty()) groups.push_back(own);
  }
  for (const AxisSet& x : groups)
    for (const AxisSet& y : groups)
      if (!x.without(y).empty() && !y.without(x).empty()) return true;
  return false;
}

bool is_product(Expr e, const ExprBuilder& b) {
  return e->is(ExprKind::reduce) && e->combine == graph::Combine::sum && is_product(b.factors(e->operands[0]), e->bound);
}

namespace {

// Whether all factors that vary along the contracted axes also have this axis.
bool is_batch(Axis a, Expr product, const ExprBuilder& b) {
  const std::vector<Factor> factors = b.factors(product->operands[0]);
  return std::all_of(factors.begin(), factors.end(),
                     [&](const Factor& f) { return !f.base->axes.intersects(product->bound) || f.base->axes.contains(a); });
}

}  // namespace

OperandGroups operand_groups(Expr product, const ExprBuilder& b) {
  std::vector<std::pair<AxisSet, std::vector<Factor>>> groups;
  OperandGroups result;
  for (const Factor& f : b.factors(product->operands[0])) {
    AxisSet own = f.base->axes.without(product->bound);
    if (own.empty()) {
      result.shared.push_back(f);
      continue;
    }
    std::vector<Factor> members{f};
    for (auto g = groups.begin(); g != groups.end();) {
      // Axes that all factors have (batch axes) do not connect factors.
      const AxisSet common = g->first.common(own);
      if (std::all_of(common.begin(), common.end(), [&](Axis a) { return is_batch(a, product, b); })) {
        ++g;
        continue;
      }
      own.insert(g->first);
      members.insert(members.end(), g->second.begin(), g->second.end());
      g = groups.erase(g);
    }
    groups.emplace_back(own, members);
  }
  for (auto& [axes, members] : groups) result.groups.push_back(std::move(members));
  return result;
}

ContainedReductions::Facts ContainedReductions::facts(Expr e) {
  return known_fact(
      e, known_, [](Expr x) { return x->holds(ExprKind::reduce) ? std::nullopt : std::optional(Facts()); },
      [&](Expr x) {
        Facts all{is_product(x, b_), x->is(ExprKind::reduce)};
        for (Expr part : children(x)) {
          const Facts& inside = known_.at(part);
          all.holds_product = all.holds_product || inside.holds_product;
          all.holds_reduction = all.holds_reduction || inside.holds_reduction;
        }
        return all;
      });
}

}  // namespace tilewright::passes::fusion
