// Traces derivatives. tw::derivative and the gradients of the kernel library use it.
#pragma once
#include <functional>
#include <string_view>

#include "frontend/trace/emit.h"

namespace tilewright::detail {

/// Throws the Error that y depends on x through an op without a derivative. `what` describes the op; the value is the op's result.
using RefuseDerivative = std::function<void(ir::ValueId, std::string_view what)>;
/// The derivative of y with respect to x, element by element. Requires that both have the same shape.
ir::ValueId trace_derivative(Emit&, ir::ValueId y, ir::ValueId x, const RefuseDerivative&);

}  // namespace tilewright::detail
