// Derivatives of traced values, for what calls them by another name than tw::derivative.
#pragma once
#include <functional>
#include <string_view>

#include "frontend/trace/emit.h"

namespace tilewright::detail {

/// Throws the Error that y depends on x by an op without a derivative: the value that it makes, and what it is.
using RefuseDerivative = std::function<void(ir::ValueId, std::string_view what)>;
/// The derivative of y by x, element by element. Requires: they have one shape.
ir::ValueId trace_derivative(Emit&, ir::ValueId y, ir::ValueId x, const RefuseDerivative&);

}  // namespace tilewright::detail
