// A kernel of the user in a sequence of kernels: its function and its launch are not changed.
#pragma once
#include <vector>

#include "passes/fusion/sequence/kernel_sequence.h"
#include "tileir/graph/opaque_kernel.h"

namespace tilewright::passes::fusion {

/// operands, results: the buffers that hold them, row-major.
SequenceKernel called_kernel(const graph::OpaqueKernel&, const std::vector<int>& operands, const std::vector<int>& results);

}  // namespace tilewright::passes::fusion
