// Scratch by kind of op. The plans that the sizes follow from are shared with the lowering.
#include "passes/analysis/shared_scratch.h"

namespace tilewright::passes {

std::int64_t shared_scratch(const ir::Function& f, ir::OpId id, const ir::TargetDesc&, int) {
  switch (f.kind(id)) {
    default: return 0;
  }
}

}  // namespace tilewright::passes
