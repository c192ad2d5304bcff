// Names functions for reports.
#include "tileir/graph/function_name.h"

#include <fmt/format.h>

#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/opaque_kernel.h"
#include "tileir/op_info.h"

namespace tilewright::graph {

std::string function_name(const Node& n) {
  switch (n.op) {
    case Op::map: return n.function == ir::OpKind::select_ ? "where" : std::string(ir::text(n.function));
    case Op::reduce: return n.kind == Combine::combine ? "reduce" : std::string(text(n.kind));
    case Op::call: return n.kernel->name;
    case Op::scan: return fmt::format("cum{}", text(n.kind));
    default: return std::string(text(n.op));
  }
}

std::string display_name(const Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!n.name.empty()) return n.name;
  return n.composite ? g.composite(*n.composite).name : function_name(n);
}

const Location& call_location(const Graph& g, NodeId id) {
  const Node& n = g.node(id);
  return n.composite ? g.composite(*n.composite).where : n.where;
}

}  // namespace tilewright::graph
