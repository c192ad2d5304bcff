// Says which operations are costly.
#pragma once
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

/// How many exponentials take a processor as long as one such operation; 0 if it takes no longer than a few additions.
double exponentials_of(ir::OpKind);

/// Whether an op takes a processor as long as several additions, and longer than reading its result.
inline bool is_transcendental(ir::OpKind op) { return exponentials_of(op) > 0; }

}  // namespace tilewright::passes::fusion
