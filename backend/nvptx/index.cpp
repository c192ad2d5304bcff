// Placeholder while issue 5 is under way.
#include "backend/nvptx/lowering.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::nvptx {

void NvptxLowering::emit_gather(OpId) { TW_UNREACHABLE("gather: not lowered yet"); }
void NvptxLowering::emit_histogram(OpId) { TW_UNREACHABLE("histogram: not lowered yet"); }

}  // namespace tilewright::backend::nvptx
