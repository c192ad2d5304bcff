// Tensors indexed by tensors.
#pragma once
#include "tilewright/graph/tensor.h"
#include "tilewright/ops/index.h"

namespace tilewright {

namespace detail::tensor {
Handle gather(const Handle& table, const Handle& index, std::int64_t axis, const Here&);
Handle take_along(const Handle&, const Handle& index, std::int64_t axis, const Here&);
Handle scatter_add(const Handle&, const Handle& index, const Handle& updates, std::int64_t axis, const Here&);
}  // namespace detail::tensor

/// The slices of the table that `index` names (an embedding); the axes of `index` replace `axis`. (The gather of tiles is called take_along
/// for tensors.) Indices must be in range, here and below: an index outside gives the value of some slice or 0, never memory outside of the
/// table, and scatter_add skips its update. In checked mode (PlanOptions::check, TILEWRIGHT_CHECK=1) the run throws an Error that names the
/// index, whatever uses the result.
template <ValueElement T, IntegerElement I>
Tensor<T> gather(const Tensor<T>& table, const Tensor<I>& index, Axis axis = 0, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::gather(table, index, axis.value, at));
}
/// Element [i, j, ...] of the result is the element of t at the same indices, except that index[i, j, ...] replaces the one along the axis.
/// The other extents are equal.
template <ValueElement T, IntegerElement I>
Tensor<T> take_along(const Tensor<T>& t, const Tensor<I>& index, Axis axis, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::take_along(t, index, axis.value, at));
}
/// t plus the updates: each is added to the element that gather(t, index, axis) would read. `updates` has the shape of that gather's result.
/// Updates of the same element are all added.
template <NumberElement T, IntegerElement I>
Tensor<T> scatter_add(const Tensor<T>& t, const Tensor<I>& index, const Tensor<T>& updates, Axis axis = 0, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::scatter_add(t, index, updates, axis.value, at));
}

}  // namespace tilewright
