// The memory of clusters, which clusters use one after another, and the start of their blocks.
#pragma once
#include "runtime/emulator/state/cluster.h"
#include "runtime/emulator/state/launch_state.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {

inline u64 product(const std::array<u32, 3>& extents) { return u64{extents[0]} * extents[1] * extents[2]; }

/// The memory of a cluster, from the object pool if it has one that fits.
std::shared_ptr<Cluster> make_cluster(const LaunchState&);
/// Prepares the memory for the blocks of cluster `number`, whatever it was used for before.
void start_cluster(const LaunchState&, Cluster&, Worker&, u64 number);

}  // namespace tilewright::rt::emulator
