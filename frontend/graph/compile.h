// Compiles graphs that have no user-side Graph object, such as graphs from text.
#pragma once
#include <memory>
#include <string>

#include "runtime/device.h"
#include "tileir/graph/graph.h"
#include "tilewright/here.h"
#include "tilewright/plan.h"

namespace tilewright::detail {

/// Does what Graph::compile does. The graph must have an output and must not change any more. `device`: null for a plan that has everything
/// except run().
Plan compile_graph(const std::shared_ptr<const graph::Graph>&, std::shared_ptr<rt::Device> device, const std::string& target,
                   const PlanOptions&, const Here& at);

}  // namespace tilewright::detail
