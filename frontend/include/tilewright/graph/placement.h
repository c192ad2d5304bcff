// Where tensors are kept.
#pragma once
#include "tilewright/graph/tensor.h"

namespace tilewright {

namespace detail::tensor {
Handle materialize(const Handle&, const Here&);
}  // namespace detail::tensor

/// t, in memory before anything reads it: kernels end there, and the graph search does not look past it. A tensor that is in memory anyway
/// (an input, a constant, a result of graph.call) is returned itself.
template <ValueElement T>
Tensor<T> materialize(const Tensor<T>& t, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::materialize(t, at));
}

}  // namespace tilewright
