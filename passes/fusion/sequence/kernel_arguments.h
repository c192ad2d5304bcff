// The arguments of emitted kernels: buffers, extents and scalars.
#pragma once
#include <vector>

#include "passes/fusion/emit/kernel_emitter.h"
#include "passes/fusion/sequence/buffers.h"
#include "passes/fusion/sequence/kernel_sequence.h"
#include "passes/fusion/tiles/tile_sizes.h"

namespace tilewright::passes::fusion {

/// Adds a kernel, whose members for reports are set, to a list: gives it the emitted function and grid, and each parameter an argument.
void add_emitted(SequenceKernel, EmittedKernel, const TileSizes&, SequenceBuffers&, std::vector<SequenceKernel>& to);

/// Names the function after the kernel, and its parameters after the buffers.
void name_function(SequenceKernel&, const SequenceBuffers&);

}  // namespace tilewright::passes::fusion
