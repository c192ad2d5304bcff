// Runs the function of a kernel with a new trace.
#include "frontend/trace/trace.h"

#include <fmt/format.h>

#include "frontend/trace/trace_state.h"
#include "tileir/verifier.h"

namespace tilewright::detail {

ir::Function trace_kernel(const std::string& name, std::span<const TracedParam> params, const std::function<void()>& body,
                          const Location& where) {
  Trace trace(name);
  for (const TracedParam& p : params) trace.function().add_param(p.type, p.param);
  body();
  if (trace.broken()) trace.report_broken("early");
  if (trace.block() != trace.function().body()) throw Error(where, fmt::format("a loop of kernel '{}' was begun and never ended", name));
  ir::Function f = trace.take();
  ir::verify_or_throw(f);
  return f;
}

}  // namespace tilewright::detail
