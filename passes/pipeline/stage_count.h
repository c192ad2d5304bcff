// How many stages of a pipelined loop the shared memory of a program has room for.
#pragma once
#include "passes/pass.h"
#include "passes/pipeline/pipelined_loads.h"

namespace tilewright::passes {

/// Bytes of a slot of the tile that is loaded.
std::int64_t slot_bytes(const Function&, const PipelinedLoad&);

/// `asked`, or fewer stages, with a remark, if all of them need more shared memory than a program has: stages are about time only, and a
/// program that asks for many also compiles for targets with less memory.
int stages_that_fit(const Function&, const PassContext&, OpId loop, const std::vector<PipelinedLoad>&, int asked);

}  // namespace tilewright::passes
