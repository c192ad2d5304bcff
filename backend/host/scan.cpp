// Scans along an axis.
#include "backend/host/lowering.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::host {

void HostLowering::emit_scan(OpId) { TW_UNREACHABLE("not lowered"); }

}  // namespace tilewright::backend::host
