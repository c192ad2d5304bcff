// Splats: tiles whose elements all equal one scalar.
#pragma once
#include <cstdint>
#include <optional>

#include "tileir/builder.h"

namespace tilewright::ir {

/// Whether the value is a constant or a broadcast of a scalar.
bool is_splat(const Function&, ValueId);
/// The number of which all elements of an integer constant are; none for other values.
std::optional<std::int64_t> constant_integer(const Function&, ValueId);
/// The scalar that an integer splat consists of, converted to this element type (extended by its own sign). Requires: is_splat.
ValueId splat_scalar(Builder&, ValueId, Element as);

}  // namespace tilewright::ir
