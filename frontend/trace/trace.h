// Traces a kernel: runs its C++ function once and records tile IR.
#pragma once
#include <functional>
#include <span>
#include <string>

#include "tileir/ir.h"

namespace tilewright::detail {

/// One run-time parameter of the kernel. detail::parameter<T>(i) returns its value for index i.
struct TracedParam {
  ir::Type type;
  ir::Param param;
};

/// Runs `body` with a new trace that is current on this thread, and returns the verified function. `where`: the line of the kernel or the
/// launch, for mistakes without a line. Exceptions of `body` pass through unchanged. Throws Error that names the loop or branch if the body
/// of a tw::range loop, a when or a loop_while was left by break, by return, or by an exception that the kernel caught.
ir::Function trace_kernel(const std::string& name, std::span<const TracedParam> params, const std::function<void()>& body,
                          const Location& where);

}  // namespace tilewright::detail
