// Counts how many stages of a pipelined loop fit into the shared memory of a program.
#pragma once
#include "passes/pass.h"
#include "passes/pipeline/pipelined_loads.h"

namespace tilewright::passes {

/// Bytes of one slot for the loaded tile.
std::int64_t slot_bytes(const Function&, const PipelinedLoad&);

/// `asked`, or fewer stages, with a remark, if that many need more shared memory than a program has. Stages only affect speed, so a program
/// that asks for many also compiles for targets with less memory.
int stages_that_fit(const Function&, const PassContext&, OpId loop, const std::vector<PipelinedLoad>&, int asked);

}  // namespace tilewright::passes
