// Gives every op that works in shared memory its place there (attribute shared).
//
// Input: distributed. Output: allocated. Numerics do not change. See tests/files/passes/allocate_shared/.
#include "passes/analysis/shared_scratch.h"
#include "passes/pass.h"

namespace tilewright::passes {

bool allocate_shared(ir::Function& f, const PassContext& context) {
  constexpr std::int64_t kAlignment = 128;
  std::int64_t end = 0;
  f.walk([&](ir::OpId id) {
    const std::int64_t bytes = shared_scratch(f, id, context.target, context.num_warps);
    if (bytes == 0) return;
    f.set_attr(id, {ir::AttrName::shared, end});
    end += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  });
  return end > 0;
}

}  // namespace tilewright::passes
