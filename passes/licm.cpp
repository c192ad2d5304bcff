// Moves pure ops out of loops when nothing they use is computed there.
//
// Input, output: any IR. Numerics do not change. See tests/files/passes/licm/. No op of the table traps, so an op may be moved out of a
// loop that does not run; what costs too much to be done for nothing (dot, reduce, scan, sort, histogram) stays unless the loop is known
// to run.
#include "passes/canonicalize/rules.h"
#include "passes/pass.h"
#include "passes/rewriter.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

bool uses_only_outside(const Function& f, OpId id, BlockId loop_body) {
  for (ValueId v : f.op(id).operands)
    if (f.encloses(loop_body, f.defining_block(v))) return false;
  bool only = true;
  for (BlockId b : f.op(id).regions)
    f.walk(b, [&](OpId inner) {
      for (ValueId v : f.op(inner).operands) {
        const BlockId at = f.defining_block(v);
        only = only && (f.encloses(b, at) || !f.encloses(loop_body, at));
      }
    });
  return only;
}

bool is_costly(OpKind k) {
  switch (k) {
    case OpKind::dot_:
    case OpKind::dot_scaled_:
    case OpKind::reduce_:
    case OpKind::scan_:
    case OpKind::sort_:
    case OpKind::histogram_: return true;
    default: return false;
  }
}

void hoist_from(Rewriter& rw, OpId loop, BlockId body, bool certainly_runs) {
  const Function& f = rw.ir();
  for (OpId id : f.ops(body)) {
    const OpKind k = f.kind(id);
    if (!ir::info(k).has(ir::kPure)) continue;
    if ((is_costly(k) && !certainly_runs) || !uses_only_outside(f, id, body)) continue;
    rw.move_before(id, loop);
  }
}

void visit(Rewriter& rw, BlockId b) {
  const Function& f = rw.ir();
  for (OpId id : f.ops(b)) {
    const OpKind k = f.kind(id);
    if (ir::combines(k)) continue;
    // Inner loops first: what leaves them may leave this one too.
    for (BlockId r : std::vector<BlockId>(f.op(id).regions)) visit(rw, r);
    if (k == OpKind::for_) {
      hoist_from(rw, id, f.region(id), canonical::constant_trip_count(f, id).value_or(0) > 0);
    } else if (k == OpKind::while_) {
      hoist_from(rw, id, f.region(id, 0), true);   // runs at least once
      hoist_from(rw, id, f.region(id, 1), false);  // uses of values of the first region come through its arguments
    }
  }
}

}  // namespace

bool licm(Function& f, const PassContext&) {
  Rewriter rw(f);
  visit(rw, f.body());
  return rw.changed();
}

}  // namespace tilewright::passes
