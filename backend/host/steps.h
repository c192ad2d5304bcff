// The steps of a block: loop nests, scalars, and ops that are a step of their own (step_ops.h).
#pragma once
#include "backend/host/emitter.h"
#include "backend/host/non_temporal.h"

namespace tilewright::backend::host {

/// Emits all steps of a block.
void emit_steps(Emitter&, NonTemporalStores&, BlockId);

}  // namespace tilewright::backend::host
