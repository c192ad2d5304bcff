// Records functions of neural networks.
#include "frontend/graph/tensor_call.h"
#include "tileir/diagnostics.h"
#include "tileir/graph/formulas.h"

namespace tilewright::detail::tensor {

Handle activation(Activation a, const Handle& x, const Here& at) {
  constexpr std::string_view kNames[] = {"sigmoid", "silu", "gelu", "gelu_tanh", "relu"};
  TensorCall c(kNames[static_cast<int>(a)], at, {{&x, "x"}});
  switch (a) {
    case Activation::sigmoid: return c.made(graph::sigmoid(c.b, c.node(x)));
    case Activation::silu: return c.made(graph::silu(c.b, c.node(x)));
    case Activation::gelu: return c.made(graph::gelu(c.b, c.node(x)));
    case Activation::gelu_tanh: return c.made(graph::gelu_tanh(c.b, c.node(x)));
    case Activation::relu: return c.made(graph::relu(c.b, c.node(x)));
  }
  TW_UNREACHABLE("activation");
}

Handle softmax(const Handle& t, std::int64_t axis, const Here& at) {
  TensorCall c("softmax", at, {{&t, "t"}});
  return c.made(graph::softmax(c.b, c.node(t), axis));
}

Handle log_softmax(const Handle& t, std::int64_t axis, const Here& at) {
  TensorCall c("log_softmax", at, {{&t, "t"}});
  return c.made(graph::log_softmax(c.b, c.node(t), axis));
}

Handle layer_norm(const Handle& x, const Handle& gamma, const Handle& beta, double eps, const Here& at) {
  TensorCall c("layer_norm", at, {{&x, "x"}, {&gamma, "gamma"}, {&beta, "beta"}});
  return c.made(graph::layer_norm(c.b, c.node(x), c.node(gamma), c.node(beta), eps));
}

Handle rms_norm(const Handle& x, const Handle& gamma, double eps, const Here& at) {
  TensorCall c("rms_norm", at, {{&x, "x"}, {&gamma, "gamma"}});
  return c.made(graph::rms_norm(c.b, c.node(x), c.node(gamma), eps));
}

Handle batch_norm(const Handle& x, const Handle& mean, const Handle& variance, const Handle& gamma, const Handle& beta, double eps,
                  const Here& at) {
  TensorCall c("batch_norm", at, {{&x, "x"}, {&mean, "mean"}, {&variance, "variance"}, {&gamma, "gamma"}, {&beta, "beta"}});
  return c.made(graph::batch_norm(c.b, c.node(x), c.node(mean), c.node(variance), c.node(gamma), c.node(beta), eps));
}

Handle conv(const Handle& x, const Handle& w, const ConvOptions& options, TypeCode meet, TypeCode result, const Here& at) {
  TensorCall c("conv", at, {{&x, "x"}, {&w, "w"}});
  const graph::NodeId image = c.b.cast(c.node(x), element(meet)), filter = c.b.cast(c.node(w), element(meet));
  return c.made(graph::conv(c.b, image, filter, {options.stride, options.pad, options.dilation}, options.groups, element(result)));
}

Handle pool(Pool kind, const Handle& x, std::int64_t size, const PoolOptions& options, const Here& at) {
  TensorCall c(kind == Pool::max ? "max_pool" : "avg_pool", at, {{&x, "x"}});
  const graph::Movement movement{options.stride.value_or(size), options.pad, 1};
  return c.made(kind == Pool::max ? graph::max_pool(c.b, c.node(x), size, movement) : graph::avg_pool(c.b, c.node(x), size, movement));
}

Handle cross_entropy(const Handle& logits, const Handle& targets, const Here& at) {
  TensorCall c("cross_entropy", at, {{&logits, "logits"}, {&targets, "targets"}});
  return c.made(graph::cross_entropy(c.b, c.node(logits), c.node(targets)));
}

Handle rope(const Handle& x, const Handle& positions, double base, const Here& at) {
  TensorCall c("rope", at, {{&x, "x"}, {&positions, "positions"}});
  return c.made(graph::rope(c.b, c.node(x), c.node(positions), base));
}

Handle dropout(const Handle& x, double p, std::uint64_t seed, const Here& at) {
  TensorCall c("dropout", at, {{&x, "x"}});
  return c.made(graph::dropout(c.b, c.node(x), p, seed));
}

}  // namespace tilewright::detail::tensor
