// Makes the program's threads wait for each other where one reads what another wrote, or writes what another may still read: in shared
// memory, and in global memory where a store is followed by a load.
//
// Input, output: allocated. Numerics do not change. See tests/files/passes/insert_barriers/.
#include "passes/analysis/shared_scratch.h"
#include "passes/pass.h"
#include "passes/rewriter.h"

namespace tilewright::passes {

bool insert_barriers(ir::Function& f, const PassContext& context) {
  Rewriter rw(f);
  std::vector<ir::OpId> ops;
  f.walk([&](ir::OpId id) { ops.push_back(id); });
  for (ir::OpId id : ops) {
    const ir::OpInfo& info = ir::info(f.kind(id));
    const bool scratch = shared_scratch(f, id, context.target, context.num_warps) > 0;
    if (!scratch && !info.has(ir::kReads) && !info.has(ir::kWrites)) continue;
    rw.at(id);
    rw.create(ir::OpKind::barrier_, {});
  }
  return rw.changed();
}

}  // namespace tilewright::passes
