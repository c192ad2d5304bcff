// Records shape ops, indexed ops and placements of tensors.
#include "frontend/graph/tensor_call.h"
#include "tileir/graph/formulas.h"

namespace tilewright::detail::tensor {

Handle reshape(const Handle& t, const std::vector<Dim>& shape, const Here& at) {
  TensorCall c("reshape", at, {{&t, "t"}});
  return c.made(c.b.reshape(c.node(t), shape));
}

Handle permute(const Handle& t, const Axes& axes, const Here& at) {
  TensorCall c("permute", at, {{&t, "t"}});
  return c.made(c.b.permute(c.node(t), axes.values()));
}

Handle transpose(const Handle& t, const Here& at) {
  TensorCall c("transpose", at, {{&t, "t"}});
  return c.made(c.b.transpose(c.node(t)));
}

Handle expand_dims(const Handle& t, std::int64_t axis, const Here& at) {
  TensorCall c("expand_dims", at, {{&t, "t"}});
  return c.made(c.b.expand_dims(c.node(t), axis));
}

Handle squeeze(const Handle& t, std::int64_t axis, const Here& at) {
  TensorCall c("squeeze", at, {{&t, "t"}});
  return c.made(c.b.squeeze(c.node(t), axis));
}

Handle broadcast_to(const Handle& t, const std::vector<Dim>& shape, const Here& at) {
  TensorCall c("broadcast_to", at, {{&t, "t"}});
  return c.made(c.b.broadcast(c.node(t), shape));
}

Handle slice(const Handle& t, std::int64_t axis, const Dim& begin, const Dim& end, const Dim& step, const Here& at) {
  TensorCall c("slice", at, {{&t, "t"}});
  return c.made(c.b.slice(c.node(t), axis, begin, end, step));
}

Handle concat(const std::vector<Handle>& tensors, std::int64_t axis, const Here& at) {
  if (tensors.empty()) throw Error(location_of(at), "concat: there are no tensors");
  std::vector<NamedHandle> named;
  std::vector<graph::NodeId> nodes;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < tensors.size(); ++i) names.push_back("operand " + std::to_string(i + 1));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    named.push_back({&tensors[i], names[i]});
    nodes.push_back(TensorCall::node(tensors[i]));
  }
  TensorCall c("concat", at, named);
  return c.made(c.b.concat(nodes, axis));
}

Handle pad(const Handle& t, std::int64_t axis, const Dim& before, const Dim& after, const Scalar& value, const Here& at) {
  TensorCall c("pad", at, {{&t, "t"}});
  const graph::NodeId number = c.constant(value, c.b.element(c.node(t)));
  return c.made(c.b.pad(c.node(t), axis, before, after, number));
}

Handle flip(const Handle& t, std::int64_t axis, const Here& at) {
  TensorCall c("flip", at, {{&t, "t"}});
  return c.made(c.b.flip(c.node(t), axis));
}

Handle rotate(const Handle& t, std::int64_t axis, const Dim& offset, const Here& at) {
  TensorCall c("rotate", at, {{&t, "t"}});
  return c.made(c.b.rotate(c.node(t), axis, offset));
}

std::vector<Handle> split(const Handle& t, const std::vector<Dim>& sizes, std::int64_t given, const Here& at) {
  TensorCall c("split", at, {{&t, "t"}});
  std::vector<Handle> pieces;
  for (graph::NodeId piece : graph::split(c.b, c.node(t), sizes, given)) pieces.push_back(c.made(piece));
  return pieces;
}

Handle window(const Handle& t, std::int64_t axis, const Dim& size, const Dim& step, const Dim& dilation, const Here& at) {
  TensorCall c("window", at, {{&t, "t"}});
  return c.made(c.b.window(c.node(t), axis, size, step, dilation));
}

Handle materialize(const Handle& t, const Here& at) {
  TensorCall c("materialize", at, {{&t, "t"}});
  return c.made(c.b.materialize(c.node(t)));
}

Handle gather(const Handle& table, const Handle& index, std::int64_t axis, const Here& at) {
  TensorCall c("gather", at, {{&table, "table"}, {&index, "index"}});
  return c.made(c.b.gather(c.node(table), c.node(index), axis));
}

Handle take_along(const Handle& t, const Handle& index, std::int64_t axis, const Here& at) {
  TensorCall c("take_along", at, {{&t, "t"}, {&index, "index"}});
  return c.made(c.b.take_along(c.node(t), c.node(index), axis));
}

Handle scatter_add(const Handle& t, const Handle& index, const Handle& updates, std::int64_t axis, const Here& at) {
  TensorCall c("scatter_add", at, {{&t, "t"}, {&index, "index"}, {&updates, "updates"}});
  return c.made(c.b.scatter_add(c.node(t), c.node(index), c.node(updates), axis));
}

}  // namespace tilewright::detail::tensor
