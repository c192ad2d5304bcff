// Which warp and which of its entries runs, and what lets those that wait go on.
#pragma once
#include "runtime/emulator/state/block.h"
#include "runtime/emulator/state/cluster.h"
#include "runtime/emulator/state/warp.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {

enum class Progress : u8 {
  finished,  // the cluster, or the warp
  waiting,   // for others
  paused,    // its share of instructions is used up
  stuck,     // no instruction of the cluster can change anything any more unless other clusters do
  stopped,   // a diagnostic ends the launch, or Launch::ending says why
};

/// Runs a warp for at most `budget` instructions.
Progress run_warp(Warp&, u64 budget);
/// Threads of a warp make progress independently: lanes that wait for others, which wait for an mbarrier or, if `spins`, run in a loop, go
/// on alone. False if there are none.
bool split_off_waiting_lanes(Warp&, bool spins);
/// Runs the warps of a cluster's blocks in turns, in the launch's order, until all are done, or for about `budget` instructions.
Progress run_cluster(Cluster&, Worker&, u64 budget);

}  // namespace tilewright::rt::emulator
