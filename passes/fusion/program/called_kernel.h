// A kernel of the user as a kernel of a program: its function and launch stay as they are.
#pragma once
#include <vector>

#include "passes/fusion/program/program.h"
#include "tileir/graph/opaque_kernel.h"

namespace tilewright::passes::fusion {

/// operands, results: the buffers in which they are, row-major.
ProgramKernel called_kernel(const graph::OpaqueKernel&, const std::vector<int>& operands, const std::vector<int>& results);

}  // namespace tilewright::passes::fusion
