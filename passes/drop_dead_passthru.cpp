// Drops the passthrough value of a masked load (attribute poison_passthru) if its elements are used only where the mask is true.
//
//   x = load p, m; store q, f(x), m   ->   x = load p, m {poison_passthru}; ...     f element-wise; any store mask that implies m
//
// An element-wise op that is lowered to branches uses every element, since control flow must not depend on poison.
//
// Input, output: any IR. Numerics do not change. See tests/files/passes/drop_dead_passthru/.
#include "passes/pass.h"
#include "passes/rewriter.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"
#include "tileir/slices.h"

namespace tilewright::passes {

namespace {

bool implies(const Function& f, ValueId mask, ValueId condition, int depth = 8) {
  if (mask == condition) return true;
  const OpId both = f.defined_by(mask, OpKind::bit_and_);
  return both && depth > 0 &&
         (implies(f, f.operand(both, 0), condition, depth - 1) || implies(f, f.operand(both, 1), condition, depth - 1));
}

/// Whether machine code for the op branches on its operands. LLVM's BypassSlowDivision divides 64-bit integers by 32-bit instructions if
/// both operands fit.
bool is_lowered_to_branches(const Function& f, const ir::OpData& op) {
  if (op.kind != OpKind::div_ && op.kind != OpKind::rem_) return false;
  const ir::Type t = f.type(op.results[0]);
  return t.is_integer() && ir::bits(t.element()) == 64;
}

bool is_used_only_under(const Function& f, ValueId value, ValueId mask) {
  return forward_uses(f, value, [&](OpId user, ValueId used) {
    const ir::OpData& op = f.op(user);
    if (op.kind == OpKind::store_) {
      // Masked-out elements of an address must not be poison either: a vector access takes its address from its first element.
      const bool is_address = op.operands[0] == used;
      const ValueId store_mask = ir::mask_of(f, user);
      const bool is_masked = !is_address && store_mask && store_mask != used && implies(f, store_mask, mask);
      return is_masked ? ir::WalkResult::skip : ir::WalkResult::interrupt;
    }
    const ir::OpInfo& info = ir::info(op.kind);
    const bool is_elementwise = info.has(ir::kElementwise) && info.has(ir::kPure) && op.kind != OpKind::inline_ptx_;
    return is_elementwise && !is_lowered_to_branches(f, op) ? ir::WalkResult::advance : ir::WalkResult::interrupt;
  });
}

}  // namespace

bool drop_dead_passthru(Function& f, const PassContext&) {
  Rewriter rw(f);
  bool changed = false;
  f.walk([&](OpId id) {
    const ir::OpData& op = f.op(id);
    if (op.kind != OpKind::load_ || f.attr(id, AttrName::poison_passthru) != 0) return;
    const ValueId mask = ir::mask_of(f, id);
    if (!mask || !is_used_only_under(f, op.results[0], mask)) return;
    if (op.operands.size() > 2) rw.erase_operand(id, 2);
    f.set_attr(id, {AttrName::poison_passthru, 1, {}, {}});
    changed = true;
  });
  return changed;
}

}  // namespace tilewright::passes
