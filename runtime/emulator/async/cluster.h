// The barrier of a cluster.
#pragma once

namespace tilewright::rt::emulator {

struct Cluster;

/// Ends the phase of the cluster's barrier if all threads that have not exited have arrived.
void complete_if_all_arrived(Cluster&);

}  // namespace tilewright::rt::emulator
