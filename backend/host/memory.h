// Loads and stores of scalars, and of the lanes of a loop nest.
#pragma once
#include "backend/host/nest.h"
#include "backend/host/non_temporal.h"

namespace tilewright::backend::host {

void load_scalar(Emitter&, OpId);
void store_scalar(Emitter&, OpId);

/// Loads the elements at the nest's current index.
Value* load_at(Nest&, OpId);
void store_at(Nest&, OpId, NonTemporalStores&);
/// Stores `elements` instead of the op's operand.
void store_at(Nest&, OpId, NonTemporalStores&, Value* elements);

}  // namespace tilewright::backend::host
