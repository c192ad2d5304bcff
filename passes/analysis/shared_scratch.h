// How much shared memory an op of a distributed function needs while it runs: what allocation and code generation agree on.
#pragma once
#include <cstdint>

#include "passes/ir_names.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes {

/// Bytes of shared memory that the op works in; 0: none. The op writes there without waiting for anyone, orders its own writes and reads,
/// and may leave other warps reading when a first one is done with it (see insert_barriers).
std::int64_t shared_scratch(const ir::Function&, ir::OpId, const ir::TargetDesc&, int num_warps);

/// Of an op with scratch: whether all threads of the program wait for each other after what it does to global memory and its first writes
/// of the scratch, and before its last reads. So what comes before the op, and its own accesses to global memory, are done when it is left.
bool has_internal_barrier(const ir::Function&, ir::OpId);

}  // namespace tilewright::passes
