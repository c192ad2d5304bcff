// The scratch of an op: the shared memory that it uses while it runs, as allocation and code generation both compute it.
#pragma once
#include <cstdint>

#include "passes/ir_names.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes {

/// Bytes of scratch; 0: none. The op starts to write its scratch without a barrier, orders its own writes and reads, and may end in one
/// warp while other warps still read (see insert_barriers).
std::int64_t shared_scratch(const ir::Function&, ir::OpId, const ir::TargetDesc&, int num_warps);

/// Whether an op with scratch has a barrier of all threads after its accesses of global memory and its first writes of scratch, and before
/// its last reads. Then all accesses before the op, and its own of global memory, are complete when it ends.
bool has_internal_barrier(const ir::Function&, ir::OpId);

}  // namespace tilewright::passes
