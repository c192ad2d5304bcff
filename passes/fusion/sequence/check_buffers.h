// Checks that the kernels of a sequence fit together.
#pragma once
#include "passes/fusion/sequence/kernel_sequence.h"

namespace tilewright::passes::fusion {

/// Checks that every buffer is given or written before a kernel reads it, and that every output is written. Throws CompilerBug.
void check_buffers(const KernelSequence&);

}  // namespace tilewright::passes::fusion
