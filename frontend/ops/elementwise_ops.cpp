// The table that maps operators and functions to ops.
#include "frontend/ops/elementwise_ops.h"

#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::detail {

// && and || evaluate both sides, because the elements of a tile cannot short-circuit.
ElementwiseOp op_of(Unary op) {
  switch (op) {
    case Unary::logical_not: return {ir::OpKind::bit_not_, "operator!"};
#define X(name, text) \
  case Unary::name: return {ir::OpKind::name##_, text};
      TW_UNARY_OPERATIONS(X)
#undef X
  }
  TW_UNREACHABLE("unary operation");
}
ElementwiseOp op_of(Binary op) {
  switch (op) {
    case Binary::logical_and: return {ir::OpKind::bit_and_, "operator&&"};
    case Binary::logical_or: return {ir::OpKind::bit_or_, "operator||"};
#define X(name, text) \
  case Binary::name: return {ir::OpKind::name##_, text};
      TW_BINARY_OPERATIONS(X)
#undef X
  }
  TW_UNREACHABLE("binary operation");
}

}  // namespace tilewright::detail
