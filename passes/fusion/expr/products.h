// Recognises reductions that are matrix products.
#pragma once
#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

/// Whether factors that lack different axes of the result are multiplied along common axes.
bool is_product(const std::vector<Factor>& factors, const AxisSet& along);
/// Whether an expression is a sum of such products.
bool is_product(Expr, const ExprBuilder&);

/// The factors of a product, grouped by the operand to which they belong.
struct OperandGroups {
  std::vector<std::vector<Factor>> groups;  // by the axes of the result that the factors have in common
  std::vector<Factor> shared;               // factors with contracted axes only
};
OperandGroups operand_groups(Expr reduce, const ExprBuilder&);

/// Whether expressions are reductions or contain some; each is visited once.
class ContainedReductions {
 public:
  explicit ContainedReductions(const ExprBuilder& b) : b_(b) {}
  bool holds_product(Expr e) { return facts(e).holds_product; }
  bool holds_reduction(Expr e) { return facts(e).holds_reduction; }

 private:
  struct Facts {
    bool holds_product = false, holds_reduction = false;
  };
  Facts facts(Expr);

  const ExprBuilder& b_;
  std::unordered_map<Expr, Facts, ExprHash> known_;
};

}  // namespace tilewright::passes::fusion
