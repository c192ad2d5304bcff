// Placeholder while issue 5 is under way.
#include "backend/nvptx/lowering.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::nvptx {

void NvptxLowering::emit_convert_layout(OpId) { TW_UNREACHABLE("convert_layout: not lowered yet"); }
void NvptxLowering::emit_flip(OpId) { TW_UNREACHABLE("flip: not lowered yet"); }

}  // namespace tilewright::backend::nvptx
