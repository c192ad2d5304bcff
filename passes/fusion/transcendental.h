// Which operations are dear.
#pragma once
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

/// Whether an op takes a processor as long as several additions, and longer than reading its result.
bool is_transcendental(ir::OpKind);

}  // namespace tilewright::passes::fusion
