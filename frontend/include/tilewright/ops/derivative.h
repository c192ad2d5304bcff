// Derivatives of what a kernel computes, from the trace.
#pragma once
#include "tilewright/tile.h"

namespace tilewright {

namespace detail {

Made derivative(const Handle& y, const Handle& x, const Here&);

}  // namespace detail

/// dy/dx, element by element, where y was computed from x by element-wise operations and has its shape: derivative(tanh(x), x) is
/// 1 - tanh(x)². Other tiles that y was computed from are constants, and so are integers and conditions that depend on x. Where there is
/// no derivative, it is that of one side: 0 at the corner of relu. Throws Error that names the operation if y depends on x by a reduction,
/// a change of shape, a loop or a branch, or by another operation without a derivative.
template <FloatElement T, FloatElement U>
Tile<T> derivative(const Tile<T>& y, const Tile<U>& x, Here at = Here::current()) {
  return Tile<T>(detail::derivative(y, x, at));
}

}  // namespace tilewright
