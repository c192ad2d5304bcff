// A user's call of a function on tensors: finds the graph, checks the handles, makes constants, and builds nodes with the user's line.
#pragma once
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

#include "tileir/graph/graph_builder.h"
#include "tilewright/graph.h"

namespace tilewright::detail::tensor {

/// A handle, and its name in messages.
struct NamedHandle {
  const Handle* handle;
  std::string_view name;
};

/// Example: `TensorCall c("flip", at, {{&t, "t"}}); return c.made(c.b.flip(c.node(t), axis));`
class TensorCall {
 public:
  /// Throws Error if a tensor is empty or if two belong to different graphs. Requires at least one tensor.
  TensorCall(std::string_view function, const Here& at, std::initializer_list<NamedHandle> tensors)
      : TensorCall(function, at, std::vector<NamedHandle>(tensors)) {}
  TensorCall(std::string_view function, const Here& at, const std::vector<NamedHandle>& tensors);
  TensorCall(std::string_view function, const Here& at, const Graph&);

  graph::GraphBuilder b;  // adds nodes at the end of the tensors' graph

  static graph::NodeId node(const Handle& t) { return {t.node()}; }
  /// The handle that the user gets for a new node.
  Handle made(graph::NodeId id) const { return {nodes_, id.index}; }
  /// A constant of rank 0. Throws Error if it does not fit the element.
  graph::NodeId constant(const Scalar&, ir::Element);
  /// The argument as this element type: a tensor is cast, a number becomes a constant, an extent its value.
  graph::NodeId argument(const Input&, TypeCode);
  std::vector<graph::NodeId> arguments(std::initializer_list<Input>, TypeCode meet);

 private:
  TensorCall(std::string_view function, const Here& at, std::shared_ptr<graph::Graph> nodes);
  std::shared_ptr<graph::Graph> nodes_;
};

inline ir::Element element(TypeCode code) { return static_cast<ir::Element>(code.element); }

}  // namespace tilewright::detail::tensor
