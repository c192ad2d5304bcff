// Checked mode: finds the lanes that may access memory.
#pragma once
#include "backend/host/emitter.h"

namespace tilewright::backend::host {

/// The mask of the lanes that an op may access: those of `mask` (null: all) whose addresses the runtime finds valid. The runtime reports
/// the other ones. Addresses and mask are scalars, or vectors of `lanes`.
Value* check_addresses(Emitter&, Value* addresses, Value* mask, unsigned lanes, OpId, bool is_store, int element_bytes);

}  // namespace tilewright::backend::host
