// Groups factors by the axes of the result that they have.
#include "passes/fusion/products.h"

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

HeldReductions::Facts HeldReductions::facts(Expr e) {
  if (const auto known = known_.find(e); known != known_.end()) return known->second;
  Facts f{is_product(e, b_), e->is(ExprKind::reduce)};
  for (Expr x : children(e)) {
    const Facts inside = facts(x);
    f.holds_product = f.holds_product || inside.holds_product;
    f.holds_reduction = f.holds_reduction || inside.holds_reduction;
  }
  return known_[e] = f;
}

}  // namespace tilewright::passes::fusion
