// Elements picked by index, and counts of them.
#pragma once
#include <optional>

#include "tilewright/tile.h"

namespace tilewright {

namespace detail {
Made gather(const Handle&, const Handle& index, std::int64_t axis, const Here&);
Made roll(const Handle&, const Input& shift, std::optional<std::int64_t> axis, const Here&);
Made histogram(const Handle&, std::int64_t bins, const Maybe& mask, const Here&);
}  // namespace detail

/// Element [i, j, ...] of the result is that of t at the same indices but for the one along the axis, which index[i, j, ...] gives. index
/// has the rank of t, and its extents but for that of the axis. An index outside of the extent is reported in checked mode; elsewhere
/// it is taken modulo the extent.
template <Element T, IntegerElement I>
Tile<T> gather(const Tile<T>& t, const Tile<I>& index, Axis axis, Here at = Here::current()) {
  return Tile<T>(detail::gather(t, index, axis.value, at));
}
/// The elements moved by `shift` indices towards higher indices along an axis, those that leave at one end coming in at the other: element
/// i is t's at i - shift, modulo the extent. shift is an integer or an integer scalar, and may be negative.
template <Element T>
Tile<T> roll(const Tile<T>& t, detail::Offset shift, Axis axis, Here at = Here::current()) {
  return Tile<T>(detail::roll(t, shift, axis.value, at));
}
/// The same over all elements in row-major order; the shape stays.
template <Element T>
Tile<T> roll(const Tile<T>& t, detail::Offset shift, Here at = Here::current()) {
  return Tile<T>(detail::roll(t, shift, std::nullopt, at));
}
/// How many elements of t are 0, 1, ... bins - 1, a power of two of bins. Others are not counted, nor are those where the mask, which
/// broadcasts to the shape of t, is false.
template <IntegerElement T>
I32 histogram(const Tile<T>& t, Extent bins, detail::Other<bool> mask = {}, Here at = Here::current()) {
  return I32(detail::histogram(t, bins.value, mask, at));
}

}  // namespace tilewright
