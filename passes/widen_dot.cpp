// Widens dots: a dot of 16- or 8-bit floats becomes a dot of f32, which holds their values exactly, unless the target has another order for
// dots of bf16 (tileir/target/dot_order.h).
//
// Input, output: traced IR. Numerics do not change: products and sums are in f32 in both cases. See tests/files/passes/widen_dot/.
#include "passes/pass.h"
#include "tileir/builder.h"
#include "tileir/op_kind.h"
#include "tileir/target/dot_order.h"

namespace tilewright::passes {

using namespace ir;

bool widen_dot(Function& f, const PassContext& context) {
  bool changed = false;
  f.walk([&](OpId id) {
    if (f.kind(id) != OpKind::dot_ || adds_bf16_blocks(f, id, context.target.reduction)) return;
    for (int i : {0, 1}) {
      const ValueId x = f.operand(id, i);
      const Type t = f.type(x);
      if (!t.is_float() || bits(t.element()) >= 32) continue;
      Builder b(f);
      b.before(id);
      b.set_loc(f.op(id).loc);
      f.set_operand(id, i, b.cast(x, Element::f32));
      changed = true;
    }
  });
  return changed;
}

}  // namespace tilewright::passes
