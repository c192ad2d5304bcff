// A masked load whose elements are only looked at where the mask holds need not fill the others: attribute poison_passthru.
//
// Input, output: any IR. Numerics do not change. See tests/files/passes/drop_dead_passthru/.
//
//   x = load p, m; store q, f(x), m   ->   x = load p, m {poison_passthru}; ...     f element-wise; a mask that implies m will do too
#include "passes/pass.h"
#include "passes/rewriter.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

bool implies(const Function& f, ValueId mask, ValueId wanted, int depth = 8) {
  if (mask == wanted) return true;
  const OpId both = f.defined_by(mask, OpKind::bit_and_);
  return both && depth > 0 && (implies(f, f.operand(both, 0), wanted, depth - 1) || implies(f, f.operand(both, 1), wanted, depth - 1));
}

/// Whether elements of the value matter only where the mask holds.
bool is_seen_under(const Function& f, ValueId value, ValueId mask) {
  std::vector<ValueId> reached{value};
  std::vector<bool> seen(f.value_capacity());
  for (std::size_t next = 0; next < reached.size(); ++next)
    for (OpId user : f.value(reached[next]).users) {
      const ir::OpData& op = f.op(user);
      if (op.kind == OpKind::store_) {
        // As an address a lane that is off would do too, but a vector of them is taken from its first.
        const bool is_address = op.operands[0] == reached[next];
        const ValueId stored_under = ir::mask_of(f, user);
        if (is_address || !stored_under || stored_under == reached[next] || !implies(f, stored_under, mask)) return false;
        continue;
      }
      const ir::OpInfo& info = ir::info(op.kind);
      if (!info.has(ir::kElementwise) || !info.has(ir::kPure) || op.kind == OpKind::inline_ptx_) return false;
      if (!seen[op.results[0].index]) reached.push_back(op.results[0]);
      seen[op.results[0].index] = true;
    }
  return true;
}

}  // namespace

bool drop_dead_passthru(Function& f, const PassContext&) {
  Rewriter rw(f);
  bool changed = false;
  f.walk([&](OpId id) {
    const ir::OpData& op = f.op(id);
    if (op.kind != OpKind::load_ || f.attr(id, ir::AttrName::poison_passthru) != 0) return;
    const ValueId mask = ir::mask_of(f, id);
    if (!mask || !is_seen_under(f, op.results[0], mask)) return;
    if (op.operands.size() > 2) rw.erase_operand(id, 2);
    f.set_attr(id, {ir::AttrName::poison_passthru, 1, {}, {}});
    changed = true;
  });
  return changed;
}

}  // namespace tilewright::passes
