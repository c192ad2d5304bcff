// The types of tile IR for the element types of the public headers.
#pragma once
#include "tileir/type.h"
#include "tilewright/elements.h"

namespace tilewright::detail {

/// The tile IR type for an element type of the public headers.
ir::Type ir_type(TypeCode);

}  // namespace tilewright::detail
