// Emits the loop of a contraction (contraction.h).
#pragma once
#include <functional>

#include "backend/host/emitter.h"

namespace tilewright::backend::host {

/// Runs `iteration` (one iteration of the loop, from its number and the scalars that it carries to these after it) so many times, and adds
/// the products of a block of iterations after it. The result is the carried scalars after the loop.
Values emit_contraction(Emitter&, const Contraction&, Value* iterations, const Values& init,
                        const std::function<Values(Value* number, const Values& carried)>& iteration);

}  // namespace tilewright::backend::host
