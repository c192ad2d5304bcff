// Follows a loaded tile to the products that use it.
#include "passes/analysis/matrix_operands.h"

#include "tileir/op_kind.h"
#include "tileir/slices.h"

namespace tilewright::passes {

namespace {

constexpr std::int64_t kMostMultiplyAdds = 4096;  // the multiply-adds of a thread: 64 KiB of machine code

}  // namespace

bool is_unrolled(const Function& f, OpId dot, int num_warps) {
  const ir::Type a = f.type(f.operand(dot, 0));
  return f.type(f.result(dot)).elements() * a.extent(a.rank() - 1) <= kMostMultiplyAdds * 32 * num_warps;
}

bool is_matrix_operand(const Function& f, OpId load, int num_warps) {
  if (f.kind(load) != OpKind::load_ || !enclosing_loop(f, f.op(load).parent)) return false;
  bool found = false;
  forward_uses(f, f.result(load), [&](OpId user, ValueId) {
    found = found || f.kind(user) == OpKind::mma_ || (f.kind(user) == OpKind::dot_ && is_unrolled(f, user, num_warps));
    return f.kind(user) == OpKind::permute_ ? ir::WalkResult::advance : ir::WalkResult::skip;
  });
  return found;
}

}  // namespace tilewright::passes
