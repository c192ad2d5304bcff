// Checks the return values of functions of the caller.
#include "tilewright/kernels/detail/callers_functions.h"

#include <fmt/format.h>

#include "frontend/ops/derivative.h"

namespace tilewright::kernels {

void expect_shape(const tilewright::detail::Handle& tile, const Shape& shape, const char* function, const char* callee, const char* like,
                  Here at) {
  using namespace tilewright::detail;
  Trace& trace = Trace::current(function, at);
  const ir::ValueId value = trace.value(tile, function, "result", at);
  const std::string got = ir::shape_text(trace.function().type(value)), want = text_of(Extents(shape.begin(), shape.end()));
  if (got == want) return;
  const Location made = trace.function().where(value);
  throw Error(made.line > 0 ? made : location_of(at),
              fmt::format("{}: {} returned {}; it must return {}, the shape of {}", function, callee, got, want, like));
}

namespace host {

tilewright::detail::Made derivative_of(const tilewright::detail::Handle& result, const tilewright::detail::Handle& argument,
                                       const char* function, const char* callee, const char* called, const Here& at) {
  using namespace tilewright::detail;
  Emit e(function, at);
  const auto refuse = [&](ir::ValueId v, std::string_view what) {
    const Location there = e.trace().function().where(v);
    throw Error(there.line > 0 ? there : location_of(at),
                fmt::format("{}: {} depends on {} by {}, which is not differentiated", function, callee, called, what));
  };
  return made(trace_derivative(e, e.value(result, "result"), e.value(argument, "argument"), refuse));
}

}  // namespace host

}  // namespace tilewright::kernels
