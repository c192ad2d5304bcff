// Records element-wise operations and conversions of tensors.
#include "frontend/graph/tensor_call.h"
#include "frontend/ops/elementwise_ops.h"
#include "tileir/graph/formulas.h"
#include "tileir/op_kind.h"

namespace tilewright::detail::tensor {

using graph::NodeId;

namespace {

/// The tensors among the arguments, with their names.
std::vector<NamedHandle> tensors(std::initializer_list<std::pair<const Input*, std::string_view>> inputs) {
  std::vector<NamedHandle> found;
  for (const auto& [input, name] : inputs)
    if (input->handle != nullptr) found.push_back({input->handle, name});
  return found;
}

}  // namespace

Handle unary(Unary op, const Input& x) {
  const ElementwiseOp row = op_of(op);
  TensorCall c(row.name, x.at, {{x.handle, "x"}});
  return c.made(c.b.map(row.kind, {TensorCall::node(*x.handle)}));
}

Handle binary(Binary op, const Input& a, const Input& b, TypeCode meet) {
  const ElementwiseOp row = op_of(op);
  TensorCall c(row.name, a.at, tensors({{&a, "a"}, {&b, "b"}}));
  return c.made(c.b.map(row.kind, c.arguments({a, b}, meet)));
}

Handle fma(const Input& x, const Input& y, const Input& z, TypeCode meet) {
  TensorCall c("fma", x.at, tensors({{&x, "a"}, {&y, "b"}, {&z, "c"}}));
  return c.made(c.b.map(ir::OpKind::fma_, c.arguments({x, y, z}, meet)));
}

Handle clamp(const Input& x, const Input& lo, const Input& hi, TypeCode meet) {
  TensorCall c("clamp", x.at, tensors({{&x, "x"}, {&lo, "lo"}, {&hi, "hi"}}));
  const std::vector<NodeId> v = c.arguments({x, lo, hi}, meet);
  return c.made(graph::clamp(c.b, v[0], v[1], v[2]));
}

Handle where(const Handle& condition, const Input& x, const Input& y, TypeCode meet) {
  std::vector<NamedHandle> all = tensors({{&x, "a"}, {&y, "b"}});
  all.insert(all.begin(), {&condition, "condition"});
  TensorCall c("where", x.at, all);
  const std::vector<NodeId> v = c.arguments({x, y}, meet);
  return c.made(c.b.map(ir::OpKind::select_, {TensorCall::node(condition), v[0], v[1]}));
}

Handle cast(const Handle& t, TypeCode to, const Here& at) {
  TensorCall c("cast", at, {{&t, "t"}});
  return c.made(c.b.cast(TensorCall::node(t), element(to)));
}

Handle bitcast(const Handle& t, TypeCode to, const Here& at) {
  TensorCall c("bitcast", at, {{&t, "t"}});
  return c.made(c.b.bitcast(TensorCall::node(t), element(to)));
}

}  // namespace tilewright::detail::tensor
