// The arguments of emitted kernels of a program, and the report of a scatter.
#pragma once
#include <string>

#include "passes/fusion/emit/kernel_emitter.h"
#include "passes/fusion/emit/scatter.h"
#include "passes/fusion/program/buffers.h"
#include "passes/fusion/program/program.h"
#include "passes/fusion/tiles/choose_tiles.h"

namespace tilewright::passes::fusion {

/// Moves what was emitted into a kernel: its function, its grid, an argument for each parameter, and the buffers that it reads and writes.
void take_emitted(ProgramKernel&, EmittedKernel, const TileSizes&, ProgramBuffers&);

/// The kernel that adds the updates of a scatter_add, without its function. `name`: name of the result.
ProgramKernel scatter_kernel(const graph::Graph&, const ExprPool&, graph::NodeId, const Scatter&, bool is_atomic, const std::string& name);

}  // namespace tilewright::passes::fusion
