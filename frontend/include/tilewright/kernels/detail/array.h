// Arguments of functions over whole arrays: a buffer, which has one axis, or a view; and the indices of an element, given its number.
#pragma once
#include <array>
#include <type_traits>
#include <utility>

#include "tilewright/kernels/detail/arguments.h"
#include "tilewright/ops.h"

namespace tilewright::kernels {

/// The index of an element along each of N axes.
template <int N>
using Indices = tilewright::detail::PerAxis<I64, N>;

/// The indices of element n in row-major order, along N axes of v from axis `first` on.
template <int N, class T, int R>
Indices<N> unravel(I64 n, const View<T, R>& v, std::size_t first = 0) {
  Indices<N> indices;
  for (std::size_t i = indices.size(); i-- > 0;) {
    const I64 extent = v.extent(first + i);
    indices[i] = i > 0 ? n % extent : n;
    if (i > 0) n = n / extent;
  }
  return indices;
}

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

/// The view that an argument is, or the view of all elements of a buffer. The reference is one to the argument itself.
template <class T, int R>
const View<T, R>& view_of(const View<T, R>& v, const Here&) {
  return v;  // NOLINT(bugprone-return-const-ref-from-parameter): launchers pass their own parameters
}
template <class T>
View<T, 1> view_of(Buffer<T>& buffer, const Here& at) {
  return View<T, 1>(buffer, at);
}
template <class T>
View<const T, 1> view_of(const Buffer<T>& buffer, const Here& at) {
  return View<const T, 1>(buffer, at);
}
/// A view or a buffer.
template <class X>
concept WholeArray = requires(X& x, const Here& at) { view_of(x, at); };
template <WholeArray X>
using WholeView = std::remove_cvref_t<decltype(view_of(std::declval<X&>(), std::declval<const Here&>()))>;
template <WholeArray X>
using WholeElement = typename WholeView<X>::element_type;

template <class X>
inline constexpr int kAxes = 0;
template <class T, int R>
inline constexpr int kAxes<View<T, R>> = R;
/// The number of axes; a buffer has one.
template <WholeArray X>
inline constexpr int kRank = kAxes<WholeView<X>>;
/// An argument with R axes: a view of rank R, or a buffer if R is 1.
template <class X, int R>
concept ArrayOf = WholeArray<X> && kRank<X> == R;
/// An argument with the same number of axes as another.
template <class X, class Of>
concept ArrayLike = WholeArray<Of> && ArrayOf<X, kRank<Of>>;

}  // namespace tilewright::kernels::host
