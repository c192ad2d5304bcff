// Dispatch of element-wise evaluation, generated from the op table.
#include "tileir/interpreter/evaluate.h"

#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::ir {

void evaluate_lanes(OpKind kind, const Lanes& lanes) {
  switch (kind) {
#define TW_ELEMENTWISE_OP(name) \
  case OpKind::name##_: return evaluate_##name(lanes);
#define TW_OTHER_OP(name) \
  case OpKind::name##_: break;
#include "tileir/dispatch.def"
  }
  TW_UNREACHABLE("evaluation of an op that is not element-wise");
}

}  // namespace tilewright::ir
