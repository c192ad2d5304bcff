// Running a kernel's C++ function once to record the tile IR that it means.
#pragma once
#include <functional>
#include <span>
#include <string>

#include "tileir/ir.h"
#include "tilewright/elements.h"

namespace tilewright::detail {

/// One run-time parameter of the kernel: what handle number i of detail::parameter<T>(i) stands for.
struct TracedParam {
  ir::Type type;
  ir::Param param;
};

/// The IR's name for an element type of the public headers.
ir::Type ir_type(TypeCode);

/// Runs `body` with a new trace current on this thread and gives the verified function. `where`: the kernel or the launch, for
/// mistakes that have no line of their own. Exceptions out of `body` pass through as they are; a body of a tw::range loop, a when or a
/// loop_while that was left by break or return, or by an exception that the kernel caught, becomes an Error that names it.
ir::Function trace_kernel(const std::string& name, std::span<const TracedParam> params, const std::function<void()>& body,
                          const Location& where);

}  // namespace tilewright::detail
