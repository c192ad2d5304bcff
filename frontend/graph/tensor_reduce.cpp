// Records reductions, scans and products of tensors.
#include "frontend/graph/tensor_call.h"
#include "tileir/graph/formulas.h"
#include "tileir/scalar_fit.h"
#include "tilewright/detail/enumerator.h"

namespace tilewright::detail::tensor {

using graph::Combine;
using graph::GivenAxes;
using graph::NodeId;

namespace {

constexpr std::string_view kReductions[] = {"sum", "prod", "max", "min", "argmax", "argmin", "any", "all", "mean", "logsumexp"};
static_assert(static_cast<int>(Reduction::all) == static_cast<int>(Combine::all));
constexpr std::string_view kScans[] = {"cumsum", "cumprod", "cummax", "cummin"};
constexpr Combine kScanKinds[] = {Combine::sum, Combine::prod, Combine::max, Combine::min};
static_assert(static_cast<int>(Precision::ieee) == static_cast<int>(graph::ProductPrecision::ieee));

}  // namespace

Handle reduce(Reduction kind, const Handle& t, const Axes* axes, bool keep_dims, const Here& at) {
  TensorCall c(kReductions[static_cast<int>(kind)], at, {{&t, "t"}});
  const GivenAxes given = axes != nullptr ? GivenAxes(axes->values()) : std::nullopt;
  if (kind == Reduction::mean) return c.made(c.b.mean(c.node(t), given, keep_dims));
  if (kind == Reduction::logsumexp) return c.made(graph::logsumexp(c.b, c.node(t), given, keep_dims));
  return c.made(c.b.reduce(static_cast<Combine>(kind), c.node(t), given, keep_dims));
}

std::pair<Handle, Handle> combine_arguments(const Handle& t, const Here& at) {
  TensorCall c("reduce", at, {{&t, "t"}});
  const ir::Element e = c.b.element(c.node(t));
  return {c.made(c.b.argument(e, 0)), c.made(c.b.argument(e, 1))};
}

Handle reduce_by(const Handle& t, std::int64_t axis, TypeCode code, const Scalar& identity, const Handle& combined, const Here& at) {
  TensorCall c("reduce", at, {{&t, "t"}, {&combined, "result of the function"}});
  const FittedScalar fitted = fit(identity, element(code));
  if (!fitted.problem.empty()) c.b.fail(fitted.problem);
  return c.made(c.b.reduce_by(c.node(t), GivenAxes{{axis}}, fitted.bits, c.node(combined)));
}

Handle scan(Scan kind, const Handle& t, std::int64_t axis, bool reverse, const Here& at) {
  TensorCall c(kScans[static_cast<int>(kind)], at, {{&t, "t"}});
  return c.made(c.b.scan(kScanKinds[static_cast<int>(kind)], c.node(t), axis, reverse));
}

Handle matmul(const Handle& x, const Handle& y, TypeCode meet, TypeCode result, Precision precision, const Here& at) {
  TensorCall c("matmul", at, {{&x, "a"}, {&y, "b"}});
  if (const std::string mistake = enumerator_mistake("precision", precision, Precision::ieee, "Precision"); !mistake.empty())
    c.b.fail(mistake);
  const NodeId a = c.b.cast(c.node(x), element(meet)), b = c.b.cast(c.node(y), element(meet));
  return c.made(c.b.matmul(a, b, element(result), static_cast<graph::ProductPrecision>(precision)));
}

Handle einsum(std::string_view equation, const std::vector<Handle>& tensors, TypeCode meet, TypeCode result, const Here& at) {
  std::vector<NamedHandle> named;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < tensors.size(); ++i) names.push_back("operand " + std::to_string(i + 1));
  for (std::size_t i = 0; i < tensors.size(); ++i) named.push_back({&tensors[i], names[i]});
  TensorCall c("einsum", at, named);
  std::vector<NodeId> nodes;
  for (const Handle& t : tensors) nodes.push_back(c.b.cast(c.node(t), element(meet)));
  return c.made(c.b.einsum(equation, nodes, element(result)));
}

}  // namespace tilewright::detail::tensor
