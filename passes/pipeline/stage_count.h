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

/// Registers of a thread besides its accumulators: addresses, counters, and what the code behind a loop needs.
inline constexpr std::int64_t kOtherRegisters = 64;

/// 32-bit registers of a thread for what a loop carries, and for the sums of asynchronous products that begin in an iteration.
std::int64_t registers_of_sums(const Function&, const PassContext&, OpId loop);

/// Whether a multiprocessor has the registers and the shared memory for two programs with these loops and so many bytes of slots.
bool has_room_for_two(const Function&, const PassContext&, const std::vector<OpId>& loops, std::int64_t bytes);

}  // namespace tilewright::passes
