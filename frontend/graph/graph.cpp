// Records inputs, outputs, symbols, constants and other tensors without operands.
#include "tilewright/graph.h"

#include <fmt/format.h>

#include "frontend/graph/tensor_call.h"

namespace tilewright::detail::tensor {

std::shared_ptr<graph::Graph> make_nodes() { return std::make_shared<graph::Graph>(); }

const std::shared_ptr<graph::Graph>& nodes_of(const Graph& g, const char* function, const Here& at) {
  if (!g.nodes_) throw Error(location_of(at), fmt::format("{}: the graph was moved from", function));
  return g.nodes_;
}

Dim dim(Graph& g, const std::string& name, const DimBounds& bounds, const Here& at) { return TensorCall("dim", at, g).b.dim(name, bounds); }

Handle input(Graph& g, Kind kind, const std::string& name, TypeCode code, const std::vector<Dim>& shape, const std::vector<Dim>* strides,
             const Here& at) {
  TensorCall c(kind == Kind::parameter ? "parameter" : "input", at, g);
  if (strides != nullptr && strides->size() != shape.size())
    c.b.fail(fmt::format("{} strides for shape {}; there must be one for each axis", strides->size(), graph::shape_text(shape)));
  return c.made(c.b.input(name, element(code), shape, strides != nullptr ? *strides : std::vector<Dim>(), kind == Kind::parameter));
}

Handle scalar(Graph& g, const std::string& name, TypeCode code, const Here& at) {
  TensorCall c("scalar", at, g);
  return c.made(c.b.scalar(name, element(code)));
}

Handle constant(Graph& g, TypeCode code, const std::vector<Dim>& shape, std::vector<std::uint64_t> bits, const Here& at) {
  TensorCall c("constant", at, g);
  // A single element for a larger shape would fill it; that is the task of full.
  if (const std::string problem = graph::problem_of_count(bits.size(), shape); !problem.empty()) c.b.fail(problem);
  return c.made(c.b.constant(element(code), shape, std::move(bits)));
}

void output(Graph& g, const std::string& name, const Handle& t, const Here& at) {
  TensorCall c("output", at, g);
  if (!t.nodes()) c.b.fail(fmt::format("'{}' is empty: it names no tensor", name));
  if (t.nodes() != nodes_of(g, "output", at))
    throw Error(location_of(at), fmt::format("output: '{}' is a tensor of another graph", name),
                {{t.nodes()->node({t.node()}).where, fmt::format("'{}' defined here", name)}});
  c.b.output(name, TensorCall::node(t));
}

Handle iota(Graph& g, TypeCode code, const std::vector<Dim>& shape, std::int64_t axis, const Here& at) {
  TensorCall c("iota", at, g);
  return c.made(c.b.iota(element(code), shape, axis));
}

Handle extent(Graph& g, TypeCode code, const Dim& length, const Here& at) {
  TensorCall c("extent", at, g);
  return c.made(c.b.extent(element(code), length));
}

Handle full(Graph& g, TypeCode code, const std::vector<Dim>& shape, const Scalar& value, const Here& at) {
  TensorCall c("full", at, g);
  return c.made(c.b.broadcast(c.constant(value, element(code)), shape));
}

Handle rand(Graph& g, std::uint64_t seed, const std::vector<Dim>& shape, const Here& at) {
  TensorCall c("rand", at, g);
  return c.made(c.b.rand(seed, shape));
}

// ---- handles ---------------------------------------------------------------------------------------------------------

std::vector<Dim> shape(const Handle& t, const Here& at) {
  TensorCall c("shape", at, {{&t, "t"}});
  return c.b.shape(TensorCall::node(t));
}

void set_name(const Handle& t, const std::string& name, const Here& at) {
  TensorCall c("name", at, {{&t, "t"}});
  t.nodes()->set_name(TensorCall::node(t), name);
}

}  // namespace tilewright::detail::tensor
