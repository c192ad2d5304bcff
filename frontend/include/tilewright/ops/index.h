// Elements selected by index, and histograms.
#pragma once
#include <optional>

#include "tilewright/tile.h"

namespace tilewright {

namespace detail {
Made gather(const Handle&, const Handle& index, std::int64_t axis, const Here&);
Made roll(const Handle&, const Input& shift, std::optional<std::int64_t> axis, const Here&);
Made histogram(const Handle&, std::int64_t bins, const Maybe& mask, const Here&);
}  // namespace detail

/// Element [i, j, ...] of the result is the element of t at the same indices, except that index[i, j, ...] replaces the one along the axis.
/// index has the rank of t, and the same extents except along the axis. Checked mode reports an index outside of the extent; otherwise it
/// is taken modulo the extent.
template <Element T, IntegerElement I>
Tile<T> gather(const Tile<T>& t, const Tile<I>& index, Axis axis, Here at = Here::current()) {
  return Tile<T>(detail::gather(t, index, axis.value, at));
}
/// Rotates the elements by `shift` indices towards higher indices along an axis: element i of the result is element i - shift of t, modulo
/// the extent. shift is an integer or an integer scalar, and may be negative.
template <Element T>
Tile<T> roll(const Tile<T>& t, detail::Offset shift, Axis axis, Here at = Here::current()) {
  return Tile<T>(detail::roll(t, shift, axis.value, at));
}
/// Rotates all elements in row-major order; the shape does not change.
template <Element T>
Tile<T> roll(const Tile<T>& t, detail::Offset shift, Here at = Here::current()) {
  return Tile<T>(detail::roll(t, shift, std::nullopt, at));
}
/// Counts how many elements of t are 0, 1, ... bins - 1, where bins is a power of two. Other elements are not counted, nor elements where
/// the mask, which broadcasts to the shape of t, is false.
template <IntegerElement T>
I32 histogram(const Tile<T>& t, Extent bins, detail::Other<bool> mask = {}, Here at = Here::current()) {
  return I32(detail::histogram(t, bins.value, mask, at));
}

}  // namespace tilewright
