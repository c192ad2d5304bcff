// Checks that the kernels of a program fit together.
#pragma once
#include "passes/fusion/program.h"

namespace tilewright::passes::fusion {

/// What a kernel reads is given, or was written by a kernel before it, and each output is written. Throws CompilerBug.
void check_buffers(const Program&);

}  // namespace tilewright::passes::fusion
