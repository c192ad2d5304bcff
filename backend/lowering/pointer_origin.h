// Finds the parameter from which an address is computed: checked mode reports a bad address relative to that parameter's buffer.
#pragma once
#include "tileir/ir.h"

namespace tilewright::backend {

/// The number of the parameter, or -1 if the address is not computed from one parameter alone. The origin of a loop-carried value is that
/// of its initial value; the origin of the result of an if or a select is that of the first arm.
int pointer_origin(const ir::Function&, ir::ValueId pointer);

}  // namespace tilewright::backend
