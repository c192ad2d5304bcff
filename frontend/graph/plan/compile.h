// Compiles graphs that no user holds, as those of text.
#pragma once
#include <memory>
#include <string>

#include "runtime/device.h"
#include "tileir/graph/graph.h"
#include "tilewright/here.h"
#include "tilewright/plan.h"

namespace tilewright::detail {

/// What Graph::compile does. Requires: a graph with an output that does not change any more. `device`: null for a plan that has everything
/// but run().
Plan compile_graph(std::shared_ptr<const graph::Graph>, std::shared_ptr<rt::Device> device, const std::string& target, const PlanOptions&,
                   const Here& at);

}  // namespace tilewright::detail
