// gather and histogram.
#include "backend/host/lowering.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::host {

void HostLowering::emit_gather(OpId) { TW_UNREACHABLE("not lowered"); }
void HostLowering::emit_histogram(OpId) { TW_UNREACHABLE("not lowered"); }

}  // namespace tilewright::backend::host
