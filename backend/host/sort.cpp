// Sorting rows.
#include "backend/host/lowering.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::host {

void HostLowering::emit_sort(OpId) { TW_UNREACHABLE("not lowered"); }

}  // namespace tilewright::backend::host
