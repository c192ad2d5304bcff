// The context of all parts of a kernel's emitter: the formulas, the builder of the function, its parameters so far, and the scopes that are
// open.
#pragma once
#include "passes/fusion/emit/folds.h"
#include "passes/fusion/emit/kernel_parameters.h"
#include "passes/fusion/emit/scopes.h"
#include "passes/fusion/emit/tile_builder.h"
#include "passes/fusion/expr/normal_form.h"
#include "tileir/builder.h"

namespace tilewright::passes::fusion {

struct EmitContext {
  EmitContext(ExprBuilder& exprs, ir::Builder& ir)
      : exprs(exprs), ir(ir), parameters(ir.function()), scopes(ir), build(ir, scopes), folds(build, scopes, exprs.pool()) {}
  EmitContext(const EmitContext&) = delete;
  EmitContext& operator=(const EmitContext&) = delete;

  /// The value of an extent: a constant or a parameter.
  Part extent(const Dim&, ir::Element);

  ExprBuilder& exprs;
  ir::Builder& ir;
  KernelParameters parameters;
  Scopes scopes;
  TileBuilder build;
  Folds folds;
};

/// While it lives, new ops get the line of an expression, if that is known.
class LineOf {
 public:
  LineOf(EmitContext&, Expr);
  ~LineOf() { ir_.set_loc(outer_); }
  LineOf(const LineOf&) = delete;
  LineOf& operator=(const LineOf&) = delete;

 private:
  ir::Builder& ir_;
  const ir::Loc outer_;
};

/// Emits expressions of any kind. The emitters of one kind each ask it for the operands of theirs.
class ValueSource {
 public:
  /// The tile of an expression with this order of axes, which must contain all of the expression's axes that have tiles.
  virtual Part value(Expr, const Order&) = 0;
  virtual Part value_as(Expr, const Order&, ir::Element) = 0;

 protected:
  ~ValueSource() = default;
};

}  // namespace tilewright::passes::fusion
