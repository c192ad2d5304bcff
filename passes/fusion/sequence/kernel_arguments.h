// The arguments of emitted kernels of a sequence, and the report of a scatter.
#pragma once
#include <string>

#include "passes/fusion/emit/kernel_emitter.h"
#include "passes/fusion/emit/scatter.h"
#include "passes/fusion/sequence/buffers.h"
#include "passes/fusion/sequence/kernel_sequence.h"
#include "passes/fusion/tiles/choose_tiles.h"

namespace tilewright::passes::fusion {

/// Moves what was emitted into a kernel: its function, its grid, an argument for each parameter, and the buffers that it reads and writes.
void take_emitted(SequenceKernel&, EmittedKernel, const TileSizes&, ProgramBuffers&);

/// The kernel that adds the updates of a scatter_add, without its function. `name`: name of the result.
SequenceKernel scatter_kernel(const graph::Graph&, const ExprPool&, graph::NodeId, const Scatter&, bool is_atomic, const std::string& name);

}  // namespace tilewright::passes::fusion
