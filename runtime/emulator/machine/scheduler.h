// Chooses which warp and which of its entries runs, and lets waiting entries continue.
#pragma once
#include "runtime/emulator/state/block.h"
#include "runtime/emulator/state/cluster.h"
#include "runtime/emulator/state/warp.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {

enum class Progress : u8 {
  finished,  // the cluster or the warp has finished
  waiting,   // it waits for others
  paused,    // its budget of instructions is used up
  stuck,     // no instruction of the cluster can change anything unless other clusters do
  stopped,   // a diagnostic ends the launch, or LaunchState::ending has another reason
};

/// Runs a warp for at most `budget` instructions.
Progress run_warp(Warp&, u64 budget);
/// Threads of a warp make progress independently: lets lanes continue that wait for other lanes, if these wait for an mbarrier or, if
/// `spins`, run in a loop. Returns false if there are no such lanes.
bool split_off_waiting_lanes(Warp&, bool spins);
/// Runs the warps of a cluster's blocks in turns, in the launch's order, until all have finished, or for about `budget` instructions.
Progress run_cluster(Cluster&, Worker&, u64 budget);

}  // namespace tilewright::rt::emulator
