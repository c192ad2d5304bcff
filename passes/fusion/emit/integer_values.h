// Emits integers and conditions on them: positions along axes, indices, and the masks of positions inside of extents.
#pragma once
#include <optional>

#include "passes/fusion/emit/emit_context.h"

namespace tilewright::passes::fusion {

/// The integer type in which an expression or an access is computed: i32 if every value fits, else 64 bits, signed or unsigned.
ir::Element index_element(Expr);

class IntegerValues {
 public:
  IntegerValues(EmitContext& context, ValueSource& values)
      : context_(context), exprs_(context.exprs), ir_(context.ir), build_(context.build), values_(values) {}

  /// A sum or a product of integers, or a cast of a value that is neither.
  Part value(Expr, const Order&, ir::Element);
  /// A comparison of integers, a conjunction or a negation.
  Part condition(Expr, const Order&);
  /// A mask of positions of these axes inside of their extents; none if all are inside.
  std::optional<Part> mask(const AxisSet&, const Order&);

 private:
  Part index(Axis, const Order&, ir::Element);

  EmitContext& context_;
  ExprBuilder& exprs_;
  ir::Builder& ir_;
  TileBuilder& build_;
  ValueSource& values_;
};

}  // namespace tilewright::passes::fusion
