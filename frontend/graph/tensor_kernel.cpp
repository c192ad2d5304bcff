// Records calls of kernels as nodes, with the words of their parameters and the memory of operands and results.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/graph/tensor_call.h"
#include "tileir/graph/neutral.h"
#include "tileir/graph/opaque_kernel.h"
#include "tileir/graph/shapes.h"

namespace tilewright::detail::tensor {

namespace {

[[noreturn]] void fail(const Here& at, const std::string& message) { throw Error(location_of(at), "call: " + message); }

}  // namespace

CallLaunch call_launch(const Launch& launch, const Here& at) {
  if (launch.stream.given() || launch.device.handle()) fail(at, "the launch has a stream or a device; a node runs on those of its plan");
  return {.grid = CallGrid(launch.grid),
          .num_warps = launch.num_warps,
          .num_stages = launch.num_stages,
          .check = launch.check,
          .contract = launch.contract};
}

CallArguments::CallArguments(const CallLaunch& given, const CallShapes& out, std::vector<TypeCode> types)
    : launch(given), shapes(out.shapes), results(std::move(types)), at(out.at) {
  if (shapes.size() != results.size())
    fail(at, fmt::format("{} shape{} for {} result{}; each result has a shape", shapes.size(), shapes.size() == 1 ? "" : "s",
                         results.size(), results.size() == 1 ? "" : "s"));
  const std::size_t rank = launch.grid.extents().size();
  if (rank < 1 || rank > 3) fail(at, fmt::format("the grid has {} extents; it must have 1 to 3", rank));
  // Without programs, a result that has elements would never be written.
  const std::int64_t least = std::all_of(shapes.begin(), shapes.end(), [](const auto& s) { return graph::is_empty(s); }) ? 0 : 1;
  for (const Dim& d : launch.grid.extents())
    if (d.is_constant() && d.value() < least)
      fail(at, fmt::format("an extent of the grid is {}; it must be at least {}", d.value(), least));
}

Launch CallArguments::options() const {
  return {.num_warps = launch.num_warps, .num_stages = launch.num_stages, .check = launch.check, .contract = launch.contract};
}

std::size_t CallArguments::add_operand(const Handle& tensor) {
  if (!tensor.nodes()) fail(at, fmt::format("operand {} is empty: it names no tensor", operands.size() + 1));
  operands.push_back(tensor);
  return operands.size() - 1;
}

void CallArguments::add_pointer(CallWord::Kind kind, std::size_t index) { words.push_back({kind, index, {}}); }

void CallArguments::add_view(CallWord::Kind kind, std::size_t index, int rank) {
  const bool is_result = kind == CallWord::Kind::result;
  const graph::TensorShape extents = is_result ? shapes[index] : shape(operands[index], at);
  if (static_cast<int>(extents.size()) != rank)
    fail(at, fmt::format("{} {} is {}, of rank {}; the kernel has a view of rank {} for it", is_result ? "result" : "operand", index + 1,
                         graph::shape_text(extents), extents.size(), rank));
  add_pointer(kind, index);
  for (const Dim& d : extents) add_extent(d);
  std::vector<Dim> strides(extents.size(), 1);
  for (std::size_t i = extents.size(); i-- > 1;) strides[i - 1] = strides[i] * extents[i];
  for (const Dim& d : strides) add_extent(d);
}

void CallArguments::add_scalar(const Handle& tensor) {
  const graph::Node* n = tensor.nodes() ? &tensor.nodes()->node({tensor.node()}) : nullptr;
  if (!n || n->op != graph::Op::scalar)
    fail(at, "a tensor for a number of the kernel; it takes a number, an extent, or what Graph::scalar gives");
  words.push_back({CallWord::Kind::scalar, scalars.size(), {}});
  scalars.push_back(tensor);
}

std::vector<Handle> call(Graph& g, const CallArguments& a, std::shared_ptr<graph::OpaqueKernel> kernel) {
  TensorCall c("call", a.at, g);
  std::vector<graph::NodeId> operands;
  for (const auto* tensors : {&a.operands, &a.scalars})
    for (const Handle& t : *tensors)
      if (t.nodes() != nodes_of(g, "call", a.at))
        throw Error(location_of(a.at), fmt::format("call: kernel '{}' gets a tensor of another graph", kernel->name),
                    {{t.nodes()->node({t.node()}).where, "the tensor is defined here"}});
  for (const Handle& t : a.operands) operands.push_back(c.node(t));
  for (std::size_t i = 0; i < a.results.size(); ++i) kernel->results.push_back({element(a.results[i]), a.shapes[i]});
  for (std::size_t i = 0; i < a.words.size(); ++i) {
    using Kind = graph::OpaqueKernel::Argument::Kind;
    const CallWord& w = a.words[i];
    graph::OpaqueKernel::Argument& to = kernel->arguments[i];
    ir::Param& parameter = kernel->function.params[i];
    to.index = w.index;
    to.extent = w.extent;
    switch (w.kind) {
      case CallWord::Kind::operand: to.kind = Kind::operand, parameter.disjoint = false; break;
      case CallWord::Kind::result: to.kind = Kind::result, parameter.disjoint = true; break;
      case CallWord::Kind::extent: {
        constexpr std::int64_t kClass = 16;  // the greatest divisor that launches know
        const std::int64_t divisor = w.extent.known_divisor();
        to.kind = Kind::extent, parameter.divisible_by = divisor == 0 ? kClass : std::min(kClass, divisor & -divisor);
        break;
      }
      case CallWord::Kind::number: break;
      case CallWord::Kind::scalar:
        to.kind = Kind::scalar, to.name = a.scalars[w.index].nodes()->node({a.scalars[w.index].node()}).text;
        break;
    }
  }
  for (std::size_t i = 0; i < a.launch.grid.extents().size(); ++i) kernel->grid[i] = a.launch.grid.extents()[i];
  std::vector<Handle> made;
  for (graph::NodeId n : c.b.call(std::move(kernel), operands)) made.push_back(c.made(n));
  return made;
}

}  // namespace tilewright::detail::tensor
