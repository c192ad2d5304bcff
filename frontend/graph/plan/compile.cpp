// Compiles graphs to plans.
#include <fmt/format.h>

#include "backend/compile.h"
#include "frontend/graph/plan/plan_state.h"
#include "runtime/active_call.h"
#include "tilewright/graph.h"

namespace tilewright {

namespace fusion = passes::fusion;

namespace {

/// The facts of a target. A name that is none is an error of the user's line.
ir::TargetDesc describe(const std::string& target, const Here& at) {
  try {
    return backend::describe_target(target);
  } catch (const Error& e) {
    const std::string_view text = e.what();
    const auto message = text.find("error: ");
    throw Error(detail::location_of(at), fmt::format("compile: {}", text.substr(message == text.npos ? 0 : message + 7)));
  }
}

Plan make_plan(const Graph& g, std::shared_ptr<rt::Device> device, const std::string& target, const PlanOptions& o, const Here& at) {
  const rt::ActiveCall call(at);
  const auto snapshot = std::make_shared<const graph::Graph>(*detail::tensor::nodes_of(g, "compile", at));
  if (snapshot->outputs().empty()) throw Error(detail::location_of(at), "compile: the graph has no output; Graph::output names one");
  const ir::TargetDesc facts = describe(target, at);
  fusion::ProgramOptions options{.fuse = o.fuse,
                                 .reassociate = o.reassociate,
                                 .move_rounding = o.move_rounding,
                                 .deterministic = o.deterministic,
                                 .batch_invariant = o.batch_invariant,
                                 .max_workspace = o.max_workspace};
  detail::PlanParts parts{.graph = snapshot,
                          .program = fusion::build_program(*snapshot, options, facts),
                          .unfused = {},
                          .device = std::move(device),
                          .target = target,
                          .max_workspace = o.max_workspace};
  options.fuse = false;
  parts.unfused = [snapshot, options, facts] { return fusion::build_program(*snapshot, options, facts); };
  return Plan(detail::make_plan_state(std::move(parts), at));
}

}  // namespace

Plan Graph::compile(const Device& device, const PlanOptions& options, Here at) const {
  return make_plan(*this, device.handle(), device.handle()->target(), options, at);
}

Plan Graph::compile(std::string_view target, const PlanOptions& options, Here at) const {
  return make_plan(*this, nullptr, std::string(target), options, at);
}

}  // namespace tilewright
