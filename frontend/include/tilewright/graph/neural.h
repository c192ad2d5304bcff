// Functions of neural networks, each defined by its formula in the other functions. 16-bit floats are computed in f32 and rounded
// once.
#pragma once
#include <optional>

#include "tilewright/graph/product.h"
#include "tilewright/graph/tensor.h"
#include "tilewright/ops/library.h"

namespace tilewright {

/// How a convolution moves its filter over the axes of positions.
struct ConvOptions {
  std::int64_t stride = 1;    // elements from one position of the filter to the next
  std::int64_t pad = 0;       // zeros in front of each axis, and behind it
  std::int64_t dilation = 1;  // elements of x from one element of the filter to the next
  std::int64_t groups = 1;    // the channels of x and of the result are divided into so many groups, and each group of x gives one
};

/// How a pool moves its window over both axes.
struct PoolOptions {
  std::optional<std::int64_t> stride = {};  // elements from one position of the window to the next; none: its size
  std::int64_t pad = 0;                     // elements of the border on each side
};

namespace detail::tensor {
Handle activation(Activation, const Handle&, const Here&);
Handle softmax(const Handle&, std::int64_t axis, const Here&);
Handle log_softmax(const Handle&, std::int64_t axis, const Here&);
Handle layer_norm(const Handle& x, const Handle& gamma, const Handle& beta, double eps, const Here&);
Handle rms_norm(const Handle& x, const Handle& gamma, double eps, const Here&);
Handle batch_norm(const Handle& x, const Handle& mean, const Handle& variance, const Handle& gamma, const Handle& beta, double eps,
                  const Here&);
Handle conv(const Handle& x, const Handle& w, const ConvOptions&, TypeCode meet, TypeCode result, const Here&);
enum class Pool : std::uint8_t { max, avg };
Handle pool(Pool, const Handle& x, std::int64_t size, const PoolOptions&, const Here&);
Handle cross_entropy(const Handle& logits, const Handle& targets, const Here&);
Handle rope(const Handle& x, const Handle& positions, double base, const Here&);
Handle dropout(const Handle& x, double p, std::uint64_t seed, const Here&);
}  // namespace detail::tensor

#define TW_ACTIVATION(NAME)                                                        \
  template <FloatElement T>                                                        \
  Tensor<T> NAME(const Tensor<T>& x, Here at = Here::current()) {                  \
    return Tensor<T>(detail::tensor::activation(detail::Activation::NAME, x, at)); \
  }
/// 1 / (1 + exp(-x)).
TW_ACTIVATION(sigmoid)
/// x / (1 + exp(-x)).
TW_ACTIVATION(silu)
/// x / 2 · (1 + erf(x / √2)).
TW_ACTIVATION(gelu)
/// x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))).
TW_ACTIVATION(gelu_tanh)
/// maximum(x, 0).
TW_ACTIVATION(relu)
#undef TW_ACTIVATION

/// exp(t - max) / sum(exp(t - max)) along an axis; NaN where all elements are -inf.
template <FloatElement T>
Tensor<T> softmax(const Tensor<T>& t, Axis axis, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::softmax(t, axis.value, at));
}
/// t - max - log(sum(exp(t - max))) along an axis.
template <FloatElement T>
Tensor<T> log_softmax(const Tensor<T>& t, Axis axis, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::log_softmax(t, axis.value, at));
}
/// (x - mean) · rsqrt(mean((x - mean)²) + eps) · gamma + beta over the last axis. gamma and beta broadcast to the shape of x.
template <FloatElement T, detail::tensor::WeightOf<T> G, detail::tensor::WeightOf<T> B>
Tensor<T> layer_norm(const Tensor<T>& x, const Tensor<G>& gamma, const Tensor<B>& beta, double eps = 1e-5f, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::layer_norm(x, gamma, beta, eps, at));
}
/// x · rsqrt(mean(x²) + eps) · gamma over the last axis. gamma broadcasts to the shape of x.
template <FloatElement T, detail::tensor::WeightOf<T> G>
Tensor<T> rms_norm(const Tensor<T>& x, const Tensor<G>& gamma, double eps = 1e-6f, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::rms_norm(x, gamma, eps, at));
}
/// (x - mean) · rsqrt(variance + eps) · gamma + beta over the last axis, the channels: a batch norm at inference, whose statistics are given.
/// All four broadcast to the shape of x.
template <FloatElement T, detail::tensor::WeightOf<T> M, detail::tensor::WeightOf<T> V, detail::tensor::WeightOf<T> G,
          detail::tensor::WeightOf<T> B>
Tensor<T> batch_norm(const Tensor<T>& x, const Tensor<M>& mean, const Tensor<V>& variance, const Tensor<G>& gamma, const Tensor<B>& beta,
                     double eps = 1e-5f, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::batch_norm(x, mean, variance, gamma, beta, eps, at));
}

/// The convolution of an image with a filter, channels last: x is [..., h, w, c] and the filter [kh, kw, c / groups, o]; the result is
/// [..., h', w', o], where h' = (h + 2 pad - dilation (kh - 1) - 1) / stride + 1, rounded down between numbers; with a symbol, the quotient
/// must be an integer in each run. A filter of rank 3 is for one axis, one of
/// rank 5 for three. The filter is not flipped, and the border is 0. Element types and accumulators are as for matmul. The formula is an
/// einsum of `window` of `pad`. Throws Error if the channels do not fit, if groups do not divide them, or if the filter is longer than an
/// axis with its border.
template <ValueElement T, ValueElement W>
Tensor<detail::tensor::Product<void, T, W>> conv(const Tensor<T>& x, const Tensor<W>& w, const ConvOptions& options = {},
                                                 Here at = Here::current()) {
  using R = detail::tensor::Product<void, T, W>;
  return Tensor<R>(detail::tensor::conv(x, w, options, detail::kCode<detail::tensor::Common<Tensor<T>, Tensor<W>>>, detail::kCode<R>, at));
}
/// The maxima of windows of size x size over the two axes before the last, the channels; extents are those of `conv`. The border counts nothing: it is -inf. Throws Error
/// if a window is longer than an axis with its border.
template <FloatElement T>
Tensor<T> max_pool(const Tensor<T>& x, std::int64_t size, const PoolOptions& options = {}, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::pool(detail::tensor::Pool::max, x, size, options, at));
}
/// The sums of windows of size x size over the two axes before the last, divided by size²; extents are those of `conv`. The border counts as 0. Throws Error if a window
/// is longer than an axis with its border.
template <FloatElement T>
Tensor<T> avg_pool(const Tensor<T>& x, std::int64_t size, const PoolOptions& options = {}, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::pool(detail::tensor::Pool::avg, x, size, options, at));
}
/// logsumexp(logits) - logits[target] of each row. logits: [..., V]; targets: [...], from 0 to below V. Throws Error if the shapes differ.
template <FloatElement T, IntegerElement I>
Tensor<T> cross_entropy(const Tensor<T>& logits, const Tensor<I>& targets, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::cross_entropy(logits, targets, at));
}
/// Rotates the pairs i, i + d/2 of the last axis, of extent d, by positions · base^(-2i/d) radians. positions broadcast to the other axes.
/// Throws Error if d is odd.
template <FloatElement T, IntegerElement I>
Tensor<T> rope(const Tensor<T>& x, const Tensor<I>& positions, double base = 10000, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::rope(x, positions, base, at));
}
/// where(rand(graph, seed, shape) >= p, x / (1 - p), 0). The result is 0 for p = 1. Throws Error unless 0 <= p <= 1.
template <FloatElement T>
Tensor<T> dropout(const Tensor<T>& x, double p, std::uint64_t seed, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::dropout(x, p, seed, at));
}

}  // namespace tilewright
