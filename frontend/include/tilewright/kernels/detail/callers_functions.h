// Functions of the caller that are compiled into a kernel: what they return must keep the shape that the kernel gives them.
#pragma once
#include "tilewright/tile.h"

namespace tilewright::kernels::host {

tilewright::detail::Made derivative_of(const tilewright::detail::Handle& result, const tilewright::detail::Handle& argument,
                                       const char* function, const char* callee, const char* called, const Here& at);

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// Throws Error unless `tile` has the shape: at the line where the tile was made, or at `at` if there is none. The message says that
/// `callee` of `function` returned the tile, and that it must have the shape of `like`.
void expect_shape(const tilewright::detail::Handle& tile, const Shape& shape, const char* function, const char* callee, const char* like,
                  Here at = Here::current());

/// derivative(result, argument) for a result of `callee`, a function given to `function`. Throws Error at the line of an operation that
/// cannot be differentiated. The message calls the argument `called`.
template <class S>
Tile<S> derivative_of(const Tile<S>& result, const Tile<S>& argument, const char* function, const char* callee, const char* called,
                      Here at = Here::current()) {
  return Tile<S>(host::derivative_of(result, argument, function, callee, called, at));
}

}  // namespace tilewright::kernels
