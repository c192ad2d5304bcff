// Emits loads of tiles whose memory is contiguous along another axis than the last one.
#pragma once
#include "backend/host/emitter.h"

namespace tilewright::backend::host {

/// Loads vectors along the axis that is contiguous, transposes square blocks of them in registers, and stores them along the tile's last
/// axis to the buffer of the result. Requires: step.is_transposed.
void emit_transposed_load(Emitter&, const Step&);

}  // namespace tilewright::backend::host
