// device_print and device_assert.
#include "backend/host/lowering.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::host {

void HostLowering::emit_report(OpId) { TW_UNREACHABLE("not lowered"); }

}  // namespace tilewright::backend::host
