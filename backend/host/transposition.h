// Loads, stores and permutes of tiles whose buffers are contiguous along a different axis than their source or destination.
#pragma once
#include "backend/host/emitter.h"
#include "backend/host/non_temporal.h"

namespace tilewright::backend::host {

/// Copies a tile from memory to its buffer, or back, and transposes it on the way. Memory is accessed in vectors along the step's last
/// dimension, the buffer in vectors along the one before it. Requires: step.transposed.
void emit_transposed_access(Emitter&, NonTemporalStores&, const Step&);

}  // namespace tilewright::backend::host
