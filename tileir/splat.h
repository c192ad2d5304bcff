// Splats: tiles of which every element is one scalar.
#pragma once
#include "tileir/builder.h"

namespace tilewright::ir {

/// Whether the value is a constant or a broadcast of a scalar.
bool is_splat(const Function&, ValueId);
/// The scalar that every element of an integer splat is, as this element (extended by its own sign). Requires: is_splat.
ValueId splat_scalar(Builder&, ValueId, Element as);

}  // namespace tilewright::ir
