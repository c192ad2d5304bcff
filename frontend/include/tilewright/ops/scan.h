// Scans: running combinations along an axis.
#pragma once
#include <tuple>

#include "tilewright/detail/combine.h"

namespace tilewright {

namespace detail {
enum class Scan : std::uint8_t { cumsum, cumprod, cummax, cummin };
Made scan(Scan, const Handle&, std::int64_t axis, bool reverse, const Here&);
}  // namespace detail

#define TW_SCAN(NAME)                                                                          \
  template <NumberElement T>                                                                   \
  Tile<T> NAME(const Tile<T>& t, Axis axis, bool reverse = false, Here at = Here::current()) { \
    return Tile<T>(detail::scan(detail::Scan::NAME, t, axis.value, reverse, at));              \
  }
/// Element k of the result combines elements 0 to k along the axis, or k to the end with `reverse` (as flip, scan, flip). The result has
/// the tile's type; 16-bit floats accumulate in f32, integers wrap.
TW_SCAN(cumsum)
TW_SCAN(cumprod)
/// The greatest and the least element so far; NaN wins.
TW_SCAN(cummax)
TW_SCAN(cummin)
#undef TW_SCAN

/// The running combinations along an axis by f(earlier, later). f must be associative; it gets the elements in order. `reverse`: from the
/// end, as flip, scan, flip.
template <ValueElement T, detail::Combine<Tile<T>> F>
Tile<T> scan(const Tile<T>& t, Axis axis, F f, bool reverse = false, Here at = Here::current()) {
  return detail::combine(reverse ? detail::Combination::scan_reversed : detail::Combination::scan, t, axis.value, f, at);
}
/// Scans several tiles at once: f takes and returns tuples of scalars.
template <ValueElement... T, detail::Combine<std::tuple<Tile<T>...>> F>
std::tuple<Tile<T>...> scan(const std::tuple<Tile<T>...>& t, Axis axis, F f, bool reverse = false, Here at = Here::current()) {
  return detail::combine(reverse ? detail::Combination::scan_reversed : detail::Combination::scan, t, axis.value, f, at);
}

}  // namespace tilewright
