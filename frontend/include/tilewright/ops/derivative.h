// Derivatives of values that a kernel computes, from the trace.
#pragma once
#include "tilewright/tile.h"

namespace tilewright {

namespace detail {

Made derivative(const Handle& y, const Handle& x, const Here&);

}  // namespace detail

/// dy/dx, element by element. y must have the shape of x and be computed from it by element-wise operations: derivative(tanh(x), x) is
/// 1 - tanh(x)². Other inputs of y are constants, as are integers and conditions that depend on x. At a corner it is the derivative of one
/// side: 0 for relu at 0. Throws Error that names the operation if y depends on x by a reduction, a change of shape, a loop or a branch, or
/// by another operation without a derivative.
template <FloatElement T, FloatElement U>
Tile<T> derivative(const Tile<T>& y, const Tile<U>& x, Here at = Here::current()) {
  return Tile<T>(detail::derivative(y, x, at));
}

}  // namespace tilewright
