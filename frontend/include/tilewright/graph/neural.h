// Functions of neural networks, each defined by its formula in the other functions. 16-bit floats are computed in f32 and rounded
// once.
#pragma once
#include "tilewright/graph/tensor.h"
#include "tilewright/ops/library.h"

namespace tilewright {

namespace detail::tensor {
Handle activation(Activation, const Handle&, const Here&);
Handle softmax(const Handle&, std::int64_t axis, const Here&);
Handle log_softmax(const Handle&, std::int64_t axis, const Here&);
Handle layer_norm(const Handle& x, const Handle& gamma, const Handle& beta, double eps, const Here&);
Handle rms_norm(const Handle& x, const Handle& gamma, double eps, const Here&);
Handle cross_entropy(const Handle& logits, const Handle& targets, const Here&);
Handle rope(const Handle& x, const Handle& positions, double base, const Here&);
Handle dropout(const Handle& x, double p, std::uint64_t seed, const Here&);

/// Weights of type U for a norm of T: the same type, a narrower one, or f32 if the norm is computed in f32.
template <class U, class T>
concept WeightOf = FloatElement<U> && (std::same_as<U, T> || WidensTo<U, T> || (sizeof(T) < 4 && sizeof(U) <= 4));
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
