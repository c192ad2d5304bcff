// Loop-invariant code motion: moves pure ops out of loops if all values that they use are defined outside of the loop.
//
// No op of the table traps, so an op may be moved out of a loop that runs zero times. Expensive ops (trait kExpensive) move only if the
// loop is known to run.
//
// Input, output: any IR. Numerics do not change. See tests/files/passes/licm/.
#include <algorithm>

#include "passes/canonicalize/rules.h"
#include "passes/pass.h"
#include "passes/rewriter.h"
#include "tileir/op_kind.h"
#include "tileir/slices.h"

namespace tilewright::passes {

namespace {

bool is_invariant(const Function& f, OpId id, BlockId loop_body) {
  const auto varies = [&](ValueId v) { return is_defined_in(f, v, loop_body); };
  const auto& operands = f.op(id).operands;
  if (std::any_of(operands.begin(), operands.end(), varies)) return false;
  for (BlockId b : f.op(id).regions) {
    const std::vector<ValueId> used = used_from_above(f, b);
    if (std::any_of(used.begin(), used.end(), varies)) return false;
  }
  return true;
}

void hoist_from(Rewriter& rw, OpId loop, BlockId body, bool certainly_runs) {
  const Function& f = rw.ir();
  for (OpId id : f.ops(body)) {
    const ir::OpInfo& info = ir::info(f.kind(id));
    if (!info.has(ir::kPure) || (info.has(ir::kExpensive) && !certainly_runs) || !is_invariant(f, id, body)) continue;
    rw.move_before(id, loop);
  }
}

void visit(Rewriter& rw, BlockId b) {
  const Function& f = rw.ir();
  for (OpId id : f.ops(b)) {
    const OpKind k = f.kind(id);
    if (ir::combines(k)) continue;
    // Inner loops come first: an op that leaves an inner loop may leave this one too.
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
