// Which parameter of a kernel an address is computed from: checked mode measures a bad address from that parameter's buffer.
#pragma once
#include "tileir/ir.h"

namespace tilewright::backend {

/// The number of the parameter, or -1 if the address is not computed from one alone. For a loop-carried value: that of its
/// initial value. For the result of an if or a select: that of the first arm.
int pointer_origin(const ir::Function&, ir::ValueId pointer);

}  // namespace tilewright::backend
