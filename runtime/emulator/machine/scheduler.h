// Which warp and which of its fragments runs, and what lets those that wait go on.
#pragma once
#include "runtime/emulator/machine/machine.h"

namespace tilewright::rt::emulator {

/// Lanes of a warp have come to a barrier of their block; the last ones to come let all go on.
void arrive(Warp&, Barrier&, Mask);
/// Ends the phase of the cluster's barrier if all threads that have not exited are there.
void complete_if_all_arrived(Cluster&);
/// The warp gives its registers above `kept` to the block's pool, where others may wait for them.
void return_registers(Warp&, u32 kept);
/// Gives a waiting fragment the result of bar.red.
void finish_reduction(Warp&, const Instruction&, Mask, const Barrier&);

enum class Progress : u8 {
  finished,  // the cluster, or the warp
  waiting,   // for others
  paused,    // its share of instructions is used up
  stuck,     // no instruction of the cluster can change anything any more unless other clusters do
  stopped,   // a finding ends the launch, or Launch::ending says why
};

/// Runs a warp for at most `budget` instructions.
Progress run_warp(Warp&, u64 budget);
/// Threads of a warp make progress independently: lanes that wait for others, which wait for an mbarrier or, if `spins`, run in a loop, go
/// on alone. False if there are none.
bool break_joins(Warp&, bool spins);
/// Runs the warps of a cluster's blocks in turns, in the launch's order, until all are done, or for about `budget` instructions.
Progress run_cluster(Cluster&, Worker&, u64 budget);

}  // namespace tilewright::rt::emulator
