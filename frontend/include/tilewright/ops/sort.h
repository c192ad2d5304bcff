// Sorting along the last axis. NaN is last in either direction and equals other NaN; +0 equals -0. Equal elements keep their order.
#pragma once
#include <utility>

#include "tilewright/tile.h"

namespace tilewright {

namespace detail {
Made sort(const Handle&, bool descending, const Here&);
std::pair<Made, Made> sort(const Handle& keys, const Handle& values, bool descending, const Here&);
Made argsort(const Handle&, bool descending, const Here&);
std::pair<Made, Made> topk(const Handle&, std::int64_t k, const Here&);
}  // namespace detail

/// The sorted elements of each row.
template <NumberElement T>
Tile<T> sort(const Tile<T>& t, bool descending = false, Here at = Here::current()) {
  return Tile<T>(detail::sort(t, descending, at));
}
/// Sorts keys, and moves the values, a tile of the same shape, with them.
template <NumberElement T, ValueElement U>
std::pair<Tile<T>, Tile<U>> sort(const Tile<T>& keys, const Tile<U>& values, bool descending = false, Here at = Here::current()) {
  const std::pair<detail::Made, detail::Made> sorted = detail::sort(keys, values, descending, at);
  return {Tile<T>(sorted.first), Tile<U>(sorted.second)};
}
/// The index along the last axis that each element of the sorted row comes from.
template <NumberElement T>
I32 argsort(const Tile<T>& t, bool descending = false, Here at = Here::current()) {
  return I32(detail::argsort(t, descending, at));
}
/// The k greatest elements of each row, greatest first, and their indices along the last axis, all different. k is a power of two and at
/// most the row's extent. Among equal elements the lower index comes first.
template <NumberElement T>
std::pair<Tile<T>, I32> topk(const Tile<T>& t, Extent k, Here at = Here::current()) {
  const std::pair<detail::Made, detail::Made> top = detail::topk(t, k.value, at);
  return {Tile<T>(top.first), I32(top.second)};
}

}  // namespace tilewright
