// Checks what functions of the caller return.
#include "tilewright/kernels/callers_functions.h"

#include <fmt/format.h>

#include "frontend/emit.h"

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

}  // namespace tilewright::kernels
