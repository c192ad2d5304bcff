// Emits loop nests.
#pragma once
#include "backend/host/emitter.h"
#include "backend/host/non_temporal.h"

namespace tilewright::backend::host {

/// Emits the loops of a step, with its items at each index.
void emit_loop_nest(Emitter&, NonTemporalStores&, const Step&);

}  // namespace tilewright::backend::host
