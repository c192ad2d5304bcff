// Elements picked by index, and counts of them.
#pragma once
#include "tilewright/tile.h"

namespace tilewright {

namespace detail {
Made gather(const Handle&, const Handle& index, std::int64_t axis, const Here&);
Made histogram(const Handle&, std::int64_t bins, const Maybe& mask, const Here&);
}  // namespace detail

/// Element [i, j, ...] of the result is that of t at the same indices but for the one along the axis, which index[i, j, ...] gives. index
/// has the rank of t, and its extents but for that of the axis. An index outside of the extent is reported in checked mode; elsewhere
/// it is taken modulo the extent.
template <Element T, IntegerElement I>
Tile<T> gather(const Tile<T>& t, const Tile<I>& index, Axis axis, Here at = Here::current()) {
  return Tile<T>(detail::gather(t, index, axis.value, at));
}
/// How many elements of t are 0, 1, ... bins - 1, a power of two of bins. Others are not counted, nor are those where the mask, which
/// broadcasts to the shape of t, is false.
template <IntegerElement T>
I32 histogram(const Tile<T>& t, Extent bins, detail::Other<bool> mask = {}, Here at = Here::current()) {
  return I32(detail::histogram(t, bins.value, mask, at));
}

}  // namespace tilewright
