// What functions of the caller return: they are compiled into a kernel, and their tiles must keep the shape that it gives them.
#pragma once
#include "tilewright/tile.h"

namespace tilewright::kernels::host {

tilewright::detail::Made derivative_of(const tilewright::detail::Handle& result, const tilewright::detail::Handle& argument,
                                       const char* function, const char* callee, const char* called, const Here& at);

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// Throws Error unless `tile` has the shape: at the line where it was made, or else at `at`. The message says that `callee` of `function`
/// returned it, and that the shape is that of `like`.
void expect_shape(const tilewright::detail::Handle& tile, const Shape& shape, const char* function, const char* callee, const char* like,
                  Here at = Here::current());

/// derivative(result, argument), where `callee` of `function` returned the result. Throws Error at the line of an operation that is not
/// differentiated. The message calls the argument `called`.
template <class S>
Tile<S> derivative_of(const Tile<S>& result, const Tile<S>& argument, const char* function, const char* callee, const char* called,
                      Here at = Here::current()) {
  return Tile<S>(host::derivative_of(result, argument, function, callee, called, at));
}

}  // namespace tilewright::kernels
