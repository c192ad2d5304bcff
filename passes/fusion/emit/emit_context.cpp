// Finds the value of an extent, and the line of an expression.
#include "passes/fusion/emit/emit_context.h"

#include <algorithm>

#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/tensor_names.h"

namespace tilewright::passes::fusion {

Part EmitContext::extent(const Dim& d, ir::Element element) {
  if (d.is_constant()) return build.integer(element, d.value());
  return {ir.cast(parameters.extent(d), element), {}};
}

// A value that is read at positions which do not depend on data gets the line of its reader.
LineOf::LineOf(EmitContext& context, Expr e) : ir_(context.ir), outer_(ir_.loc()) {
  if (e->is(ExprKind::load) && std::none_of(e->operands.begin(), e->operands.end(), holds_load)) return;
  const Location where = context.exprs.pool().where(e);
  if (where.line > 0)
    ir_.set_loc({ir_.function().add_file(where.file), static_cast<std::uint32_t>(where.line), static_cast<std::uint32_t>(where.column)});
}

}  // namespace tilewright::passes::fusion
