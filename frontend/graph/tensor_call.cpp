// Checks handles of tensors, and converts C++ constants among the arguments.
#include "frontend/graph/tensor_call.h"

#include <fmt/format.h>

#include "tileir/scalar_fit.h"

namespace tilewright::detail::tensor {

namespace {

std::shared_ptr<graph::Graph> common_graph(std::string_view function, const Here& at, const std::vector<NamedHandle>& tensors) {
  for (const NamedHandle& t : tensors)
    if (!t.handle->nodes()) throw Error(location_of(at), fmt::format("{}: '{}' is empty: it names no tensor", function, t.name));
  const NamedHandle& first = tensors.front();
  for (const NamedHandle& t : tensors) {
    if (t.handle->nodes() == first.handle->nodes()) continue;
    std::vector<Note> notes;
    for (const NamedHandle& party : {first, t})
      notes.push_back({party.handle->nodes()->node({party.handle->node()}).where, fmt::format("'{}' defined here", party.name)});
    throw Error(location_of(at), fmt::format("{}: '{}' is a tensor of another graph than '{}'", function, t.name, first.name), notes);
  }
  return first.handle->nodes();
}

}  // namespace

TensorCall::TensorCall(std::string_view function, const Here& at, std::shared_ptr<graph::Graph> nodes)
    : b(*nodes, function, location_of(at)), nodes_(std::move(nodes)) {}

TensorCall::TensorCall(std::string_view function, const Here& at, const std::vector<NamedHandle>& tensors)
    : TensorCall(function, at, common_graph(function, at, tensors)) {}

TensorCall::TensorCall(std::string_view function, const Here& at, const Graph& g)
    : TensorCall(function, at, nodes_of(g, std::string(function).c_str(), at)) {}

graph::NodeId TensorCall::constant(const Scalar& number, ir::Element e) {
  const FittedScalar fitted = fit(number, e);
  if (!fitted.problem.empty()) b.fail(fitted.problem);
  return b.constant(e, {}, {fitted.bits});
}

graph::NodeId TensorCall::argument(const Input& input, TypeCode meet) {
  if (input.extent != nullptr) return b.extent(element(meet), *input.extent);
  return input.handle != nullptr ? b.cast(node(*input.handle), element(meet)) : constant(input.constant, element(meet));
}

std::vector<graph::NodeId> TensorCall::arguments(std::initializer_list<Input> inputs, TypeCode meet) {
  std::vector<graph::NodeId> nodes;
  for (const Input& input : inputs) nodes.push_back(argument(input, meet));
  return nodes;
}

}  // namespace tilewright::detail::tensor
