// Placeholder while issue 5 is under way.
#include "backend/nvptx/lowering.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::nvptx {

void NvptxLowering::emit_dot(OpId) { TW_UNREACHABLE("dot: not lowered yet"); }
void NvptxLowering::emit_dot_scaled(OpId) { TW_UNREACHABLE("dot_scaled: not lowered yet"); }

}  // namespace tilewright::backend::nvptx
