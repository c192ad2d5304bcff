// A kernel of the user as a kernel of a program: its function and its launch are not changed.
#pragma once
#include <vector>

#include "passes/fusion/program/program.h"
#include "tileir/graph/opaque_kernel.h"

namespace tilewright::passes::fusion {

/// operands, results: the buffers that hold them, row-major.
ProgramKernel called_kernel(const graph::OpaqueKernel&, const std::vector<int>& operands, const std::vector<int>& results);

}  // namespace tilewright::passes::fusion
