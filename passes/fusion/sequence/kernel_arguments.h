// The arguments of emitted kernels: buffers, extents and scalars.
#pragma once
#include <vector>

#include "passes/fusion/emit/kernel_emitter.h"
#include "passes/fusion/sequence/buffers.h"
#include "passes/fusion/sequence/kernel_sequence.h"
#include "passes/fusion/tiles/tile_sizes.h"

namespace tilewright::passes::fusion {

/// Adds an emitted kernel, of which reports are set, to a list: takes its function and its grid, and gives an argument to each parameter.
void add_emitted(SequenceKernel, EmittedKernel, const TileSizes&, SequenceBuffers&, std::vector<SequenceKernel>& to);

/// Names the function after the kernel, and its parameters after the buffers.
void name_function(SequenceKernel&, const SequenceBuffers&);

}  // namespace tilewright::passes::fusion
