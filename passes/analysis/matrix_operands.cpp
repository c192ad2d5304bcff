// Follows a loaded tile to the matrix instructions that use it.
#include "passes/analysis/matrix_operands.h"

#include "tileir/op_kind.h"
#include "tileir/slices.h"

namespace tilewright::passes {

bool is_matrix_operand(const Function& f, OpId load) {
  if (f.kind(load) != OpKind::load_ || !enclosing_loop(f, f.op(load).parent)) return false;
  bool found = false;
  forward_uses(f, f.result(load), [&](OpId user, ValueId) {
    found = found || f.kind(user) == OpKind::mma_;
    return f.kind(user) == OpKind::permute_ ? ir::WalkResult::advance : ir::WalkResult::skip;
  });
  return found;
}

}  // namespace tilewright::passes
