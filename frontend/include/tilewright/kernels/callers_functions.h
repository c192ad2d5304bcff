// What functions of the caller return: they are compiled into a kernel, and their tiles must keep the shape that it gives them.
#pragma once
#include "tilewright/tile.h"

namespace tilewright::kernels {

/// Throws Error unless `tile` has the shape: at the line where it was made, or else at `at`. The message says that `callee` of `function`
/// returned it, and that the shape is that of `like`.
void expect_shape(const tilewright::detail::Handle& tile, const Shape& shape, const char* function, const char* callee, const char* like,
                  Here at = Here::current());

}  // namespace tilewright::kernels
