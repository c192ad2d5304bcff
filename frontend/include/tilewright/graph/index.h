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

/// The slices of the table that index names (an embedding): the axes of index stand in place of `axis`. The gather of tiles is take_along
/// here. An index must be from 0 to below the extent, here and below: another one gives a value of some slice or 0, never memory beside the
/// table, and scatter_add leaves its update out. In checked mode (PlanOptions::check, TILEWRIGHT_CHECK=1) the run is an Error that names
/// the index, whatever uses the result.
template <ValueElement T, IntegerElement I>
Tensor<T> gather(const Tensor<T>& table, const Tensor<I>& index, Axis axis = 0, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::gather(table, index, axis.value, at));
}
/// Element [i, j, ...] of the result is that of t at the same indices but for the one along the axis, which index[i, j, ...] gives. The
/// other extents are alike.
template <ValueElement T, IntegerElement I>
Tensor<T> take_along(const Tensor<T>& t, const Tensor<I>& index, Axis axis, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::take_along(t, index, axis.value, at));
}
/// t, plus the updates at the places that gather(t, index, axis) would read; updates has the shape of its result. Updates that meet at a
/// place all count.
template <NumberElement T, IntegerElement I>
Tensor<T> scatter_add(const Tensor<T>& t, const Tensor<I>& index, const Tensor<T>& updates, Axis axis = 0, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::scatter_add(t, index, updates, axis.value, at));
}

}  // namespace tilewright
