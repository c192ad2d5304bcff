// Derivatives of traced values, for functions other than tw::derivative.
#pragma once
#include <functional>
#include <string_view>

#include "frontend/trace/emit.h"

namespace tilewright::detail {

/// Throws the Error that y depends on x through an op without a derivative. Gets the value that the op returns, and a description.
using RefuseDerivative = std::function<void(ir::ValueId, std::string_view what)>;
/// The derivative of y with respect to x, element by element. Requires that both have the same shape.
ir::ValueId trace_derivative(Emit&, ir::ValueId y, ir::ValueId x, const RefuseDerivative&);

}  // namespace tilewright::detail
