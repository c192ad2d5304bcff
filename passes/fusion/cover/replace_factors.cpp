// Takes products apart and multiplies the rest again.
#include "passes/fusion/cover/replace_factors.h"

#include <algorithm>

namespace tilewright::passes::fusion {

Operands operands_apart(const ExprBuilder& b, Expr reduce) {
  const std::vector<Factor> factors = b.factors(reduce->operands[0]);
  Operands apart = operands_of(factors, reduce->bound, nullptr, batch_axes(factors, reduce->bound));
  // A mask that hides elements of several operands stays with the product.
  for (Operand& operand : apart.operands) {
    AxisSet own;
    for (const Factor& f : operand.factors) own.insert(f.base->axes);
    const auto others = std::stable_partition(operand.factors.begin(), operand.factors.end(), [&](const Factor& f) {
      return !f.base->is(ExprKind::indicator) || own.contains(f.base->hides);
    });
    apart.common.insert(apart.common.end(), others, operand.factors.end());
    operand.factors.erase(others, operand.factors.end());
  }
  std::erase_if(apart.operands, [](const Operand& operand) { return operand.factors.empty(); });
  return apart;
}

Expr replace_factors(ExprBuilder& b, Expr value, const std::vector<Factor>& removed, const std::vector<Factor>& added) {
  std::vector<Factor> factors = b.factors(value);
  std::erase_if(factors, [&](const Factor& f) { return std::find(removed.begin(), removed.end(), f) != removed.end(); });
  factors.insert(factors.end(), added.begin(), added.end());
  return b.multiply(value->is(ExprKind::mul) ? value->number : Rational(1), factors);
}

Expr with_body(ExprBuilder& b, Expr reduction, Expr body) {
  return b.reduce(reduction->combine, reduction->bound, body, reduction->operand_element, reduction->element);
}

}  // namespace tilewright::passes::fusion
