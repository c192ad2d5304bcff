// Tensors made from nothing.
#pragma once
#include <vector>

#include "tilewright/graph/tensor.h"
#include "tilewright/ops/create.h"
#include "tilewright/ops/random.h"

namespace tilewright {

class Graph;

namespace detail::tensor {
Handle iota(Graph&, TypeCode, const std::vector<Dim>& shape, std::int64_t axis, const Here&);
Handle full(Graph&, TypeCode, const std::vector<Dim>& shape, const Scalar&, const Here&);
Handle extent(Graph&, TypeCode, const Dim& length, const Here&);
Handle rand(Graph&, std::uint64_t seed, const std::vector<Dim>& shape, const Here&);
}  // namespace detail::tensor

/// The index along an axis.
template <NumberElement T>
Tensor<T> iota(Graph& graph, const std::vector<Dim>& shape, Axis axis, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::iota(graph, detail::kCode<T>, shape, axis.value, at));
}
/// The value of an extent at the run, as a tensor of rank 0: maximum(count, extent<float>(graph, n)). Beside a tensor, operators
/// take the extent itself; a C++ number over an extent, as 1.0f / extent<float>(graph, n), needs this function.
template <detail::tensor::HoldsExtents T>
Tensor<T> extent(Graph& graph, const Dim& length, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::extent(graph, detail::kCode<T>, length, at));
}
/// Every element `value`.
template <ValueElement T, detail::ConstantOf<T> S>
Tensor<T> full(Graph& graph, const std::vector<Dim>& shape, S value, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::full(graph, detail::kCode<T>, shape, detail::Scalar(value), at));
}
/// Uniform in [0, 1), in steps of 2^-24: rand(seed, row-major index) of the tile language.
inline Tensor<float> rand(Graph& graph, std::uint64_t seed, const std::vector<Dim>& shape, Here at = Here::current()) {
  return Tensor<float>(detail::tensor::rand(graph, seed, shape, at));
}

}  // namespace tilewright
