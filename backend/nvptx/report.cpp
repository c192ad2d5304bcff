// Placeholder while issue 5 is under way.
#include "backend/nvptx/lowering.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::nvptx {

void NvptxLowering::emit_device_print(OpId) { TW_UNREACHABLE("device_print: not lowered yet"); }
void NvptxLowering::emit_device_assert(OpId) { TW_UNREACHABLE("device_assert: not lowered yet"); }

}  // namespace tilewright::backend::nvptx
