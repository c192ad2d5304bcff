// Emits sums of products as dot, if the factors form two operands.
#pragma once
#include <optional>
#include <vector>

#include "passes/fusion/emit/emit_context.h"
#include "passes/fusion/emit/memory.h"

namespace tilewright::passes::fusion {

class MatrixProducts {
 public:
  MatrixProducts(EmitContext& context, IntegerValues& integers, MemoryAccesses& memory, ValueSource& values)
      : exprs_(context.exprs),
        ir_(context.ir),
        scopes_(context.scopes),
        build_(context.build),
        folds_(context.folds),
        integers_(integers),
        memory_(memory),
        values_(values) {}

  /// The sum of a body along axes, plus `accumulator` if there is one, in the types of a reduction. The result has the axes of `order`. None
  /// if the body is not a product of two operands that both vary along the axes.
  std::optional<Part> dot(Expr reduction, const AxisSet& along, Expr body, const Order& order, const std::optional<Part>& accumulator);

 private:
  Part is_finite(const Part&);
  Part operand(const std::vector<Factor>&, const Order&, const AxisSet& along, ir::Element);

  ExprBuilder& exprs_;
  ir::Builder& ir_;
  Scopes& scopes_;
  TileBuilder& build_;
  Folds& folds_;
  IntegerValues& integers_;
  MemoryAccesses& memory_;
  ValueSource& values_;
};

/// Whether every element of a product is 0 outside of the extent of the axis, because a load that varies along it is masked, and all other
/// factors are finite.
bool is_zero_outside(const std::vector<Factor>&, Axis);

}  // namespace tilewright::passes::fusion
