// Tensors in another shape.
#pragma once
#include <initializer_list>
#include <vector>

#include "tilewright/graph/tensor.h"
#include "tilewright/ops/create.h"

namespace tilewright {

namespace detail::tensor {
Handle reshape(const Handle&, const std::vector<Dim>& shape, const Here&);
Handle permute(const Handle&, const Axes&, const Here&);
Handle transpose(const Handle&, const Here&);
Handle expand_dims(const Handle&, std::int64_t axis, const Here&);
Handle squeeze(const Handle&, std::int64_t axis, const Here&);
Handle broadcast_to(const Handle&, const std::vector<Dim>& shape, const Here&);
Handle slice(const Handle&, std::int64_t axis, const Dim& begin, const Dim& end, const Dim& step, const Here&);
Handle concat(const std::vector<Handle>&, std::int64_t axis, const Here&);
Handle pad(const Handle&, std::int64_t axis, const Dim& before, const Dim& after, const Scalar& value, const Here&);
Handle flip(const Handle&, std::int64_t axis, const Here&);
Handle rotate(const Handle&, std::int64_t axis, const Dim& offset, const Here&);
std::vector<Handle> split(const Handle&, const std::vector<Dim>& sizes, std::int64_t axis, const Here&);
Handle window(const Handle&, std::int64_t axis, const Dim& size, const Dim& step, const Dim& dilation, const Here&);
}  // namespace detail::tensor

/// The elements in row-major order, in another shape with the same number of elements.
template <ValueElement T>
Tensor<T> reshape(const Tensor<T>& t, const std::vector<Dim>& shape, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::reshape(t, shape, at));
}
/// Axis i of the result is axis axes[i] of t.
template <ValueElement T>
Tensor<T> permute(const Tensor<T>& t, const Axes& axes, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::permute(t, axes, at));
}
/// The last two axes swapped.
template <ValueElement T>
Tensor<T> transpose(const Tensor<T>& t, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::transpose(t, at));
}
/// A new axis of extent 1 at position `axis` of the result.
template <ValueElement T>
Tensor<T> expand_dims(const Tensor<T>& t, Axis axis, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::expand_dims(t, axis.value, at));
}
/// Removes an axis, whose extent must be 1.
template <ValueElement T>
Tensor<T> squeeze(const Tensor<T>& t, Axis axis, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::squeeze(t, axis.value, at));
}
/// Broadcasts to a shape. Axes are aligned from the right, as in NumPy; extents of 1 stretch.
template <ValueElement T>
Tensor<T> broadcast_to(const Tensor<T>& t, const std::vector<Dim>& shape, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::broadcast_to(t, shape, at));
}
/// The elements begin, begin + step, ... below end along an axis: 0 <= begin <= end <= extent, step >= 1. If one of the bounds has a
/// symbol, step must divide end - begin.
template <ValueElement T>
Tensor<T> slice(const Tensor<T>& t, Axis axis, const Dim& begin, const Dim& end, const Dim& step = 1, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::slice(t, axis.value, begin, end, step, at));
}
/// The tensors one after the other along an axis; their other extents must be equal.
template <ValueElement T>
Tensor<T> concat(const std::vector<Tensor<T>>& tensors, Axis axis, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::concat(std::vector<detail::tensor::Handle>(tensors.begin(), tensors.end()), axis.value, at));
}
/// Concatenates a braced list.
template <ValueElement T>
Tensor<T> concat(std::initializer_list<Tensor<T>> tensors, Axis axis, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::concat(std::vector<detail::tensor::Handle>(tensors.begin(), tensors.end()), axis.value, at));
}
/// Pads t along an axis with a value: `before` elements in front of t and `after` elements behind it.
template <ValueElement T, detail::ConstantOf<T> S>
Tensor<T> pad(const Tensor<T>& t, Axis axis, const Dim& before, const Dim& after, S value, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::pad(t, axis.value, before, after, detail::Scalar(value), at));
}
/// Pads with 0, or with false.
template <ValueElement T>
Tensor<T> pad(const Tensor<T>& t, Axis axis, const Dim& before, const Dim& after, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::pad(t, axis.value, before, after, detail::Scalar(T()), at));
}
/// The elements along an axis in reverse order.
template <ValueElement T>
Tensor<T> flip(const Tensor<T>& t, Axis axis, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::flip(t, axis.value, at));
}
/// Moves the elements along an axis by `offset` positions towards its end; those that leave it there come in at its beginning: element i of
/// t becomes element (i + offset) mod n of the result, for an axis of n elements, as by numpy.roll. A negative offset moves towards the
/// beginning. Any offset is allowed, also beyond n, and with symbols.
template <ValueElement T>
Tensor<T> rotate(const Tensor<T>& t, Axis axis, const Dim& offset, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::rotate(t, axis.value, offset, at));
}
/// The pieces of these sizes along an axis, one after the other. Throws Error if the sizes do not add up to the extent.
template <ValueElement T>
std::vector<Tensor<T>> split(const Tensor<T>& t, const std::vector<Dim>& sizes, Axis axis, Here at = Here::current()) {
  std::vector<Tensor<T>> pieces;
  for (const detail::tensor::Handle& piece : detail::tensor::split(t, sizes, axis.value, at)) pieces.push_back(Tensor<T>(piece));
  return pieces;
}
/// The windows along an axis of n elements: the axis has their positions instead, (n - dilation (size - 1) - 1) / step + 1 of them, rounded
/// down, and a new last axis has the `size` elements of each. Element [.., i, .., j] is element i step + j dilation of t along the axis, as
/// by numpy.lib.stride_tricks.sliding_window_view. If one of n, size, step and dilation has a symbol, the division must come out even.
/// Throws Error if a window is longer than the axis, or if size, step or dilation is below 1.
template <ValueElement T>
Tensor<T> window(const Tensor<T>& t, Axis axis, const Dim& size, const Dim& step = 1, const Dim& dilation = 1, Here at = Here::current()) {
  return Tensor<T>(detail::tensor::window(t, axis.value, size, step, dilation, at));
}

}  // namespace tilewright
