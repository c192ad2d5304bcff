// Reductions along an axis, or over a whole tile.
#pragma once
#include <tuple>

#include "tilewright/detail/combine.h"

namespace tilewright {

namespace detail {

enum class Reduction : std::uint8_t { sum, prod, max, min, argmax, argmin, any, all, xor_sum };
/// Reduces all elements.
Made reduce(Reduction, const Handle&, const Here&);
Made reduce(Reduction, const Handle&, std::int64_t axis, bool keep_dims, const Here&);

}  // namespace detail

#define TW_REDUCE(NAME, KIND, RESULT)                                                                 \
  template <KIND T>                                                                                   \
  Tile<RESULT> NAME(const Tile<T>& t, Here at = Here::current()) {                                    \
    return Tile<RESULT>(detail::reduce(detail::Reduction::NAME, t, at));                              \
  }                                                                                                   \
  template <KIND T>                                                                                   \
  Tile<RESULT> NAME(const Tile<T>& t, Axis axis, bool keep_dims = false, Here at = Here::current()) { \
    return Tile<RESULT>(detail::reduce(detail::Reduction::NAME, t, axis.value, keep_dims, at));       \
  }
/// The sum and the product along an axis, which is removed unless keep_dims; without an axis, over all elements. The result has the tile's
/// type; 16-bit floats accumulate in f32, integers wrap.
TW_REDUCE(sum, NumberElement, T)
TW_REDUCE(prod, NumberElement, T)
/// The greatest and the least element along an axis; NaN wins. For two values there are maximum and minimum.
TW_REDUCE(max, NumberElement, T)
TW_REDUCE(min, NumberElement, T)
/// The index along an axis of the greatest and of the least element: the first NaN if there is one, else the lowest index among equal
/// elements (+0 and -0 are equal). Over a whole tile, it is the row-major index.
TW_REDUCE(argmax, NumberElement, std::int32_t)
TW_REDUCE(argmin, NumberElement, std::int32_t)
/// Whether any or all of the elements along an axis are true.
TW_REDUCE(any, BoolElement, bool)
TW_REDUCE(all, BoolElement, bool)
/// The xor of the elements along an axis: a bit is set if it is set in an odd number of elements.
TW_REDUCE(xor_sum, IntegerElement, T)
#undef TW_REDUCE

/// Combines the elements along an axis by f(earlier, later). f must be associative; it gets the elements in order.
template <ValueElement T, detail::Combine<Tile<T>> F>
Tile<T> reduce(const Tile<T>& t, Axis axis, F f, Here at = Here::current()) {
  return detail::combine(detail::Combination::reduce, t, axis.value, f, at);
}
/// Reduces several tiles at once: f takes and returns tuples of scalars.
template <ValueElement... T, detail::Combine<std::tuple<Tile<T>...>> F>
std::tuple<Tile<T>...> reduce(const std::tuple<Tile<T>...>& t, Axis axis, F f, Here at = Here::current()) {
  return detail::combine(detail::Combination::reduce, t, axis.value, f, at);
}

}  // namespace tilewright
