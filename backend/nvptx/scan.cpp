// Placeholder while issue 5 is under way.
#include "backend/nvptx/lowering.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::nvptx {

void NvptxLowering::emit_scan(OpId) { TW_UNREACHABLE("scan: not lowered yet"); }

}  // namespace tilewright::backend::nvptx
