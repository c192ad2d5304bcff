// Barrier insertion: inserts a barrier of all threads before each access that has a hazard with an earlier one, in shared or global memory.
// The rules are in passes/analysis/hazards.h.
//
// Input, output: allocated. Numerics do not change. See tests/files/passes/insert_barriers/.
#include "passes/analysis/hazards.h"
#include "passes/pass.h"
#include "passes/plans/lowering_plans.h"
#include "passes/rewriter.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

bool insert_barriers(ir::Function& f, const PassContext& context) {
  Rewriter rw(f);
  for (const Barrier& b : find_hazards(f, context.plans->get(f, context.num_warps))) {
    rw.at(b.before);
    // A barrier alone does not order what threads have written to shared memory before what copies write and stores read.
    const ir::OpKind k = f.kind(b.before);
    if (k == ir::OpKind::bulk_copy_ || k == ir::OpKind::bulk_store_) rw.create(ir::OpKind::proxy_fence_, {});
    rw.create(ir::OpKind::barrier_, {});
  }
  return rw.changed();
}

}  // namespace tilewright::passes
