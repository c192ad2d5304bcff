// The barriers of a block and of a cluster.
#pragma once
#include <array>

#include "runtime/emulator/shadow/acquire_clocks.h"

namespace tilewright::rt::emulator {

struct Barrier {
  u32 expected = 0;  // threads; 0: all of the block
  u32 arrived = 0;   // threads, full warps counting 32
  std::array<Mask, kMaxWarps> lanes{};
  AcquireClocks clocks;
  ProxyClocks async;
  ReleaseClocks released;  // what fences before the barrier made visible, of all warps
  u32 count = 0;           // of bar.red: lanes whose predicate holds
  u32 voters = 0;

  /// As new. Clears only the parts of the clocks that were used.
  void reset() {
    expected = arrived = count = voters = 0;
    lanes = {};
    clocks.clear();
    async.clear();
    released = {};
  }
};

/// The barrier of all threads of a cluster. Threads arrive, and wait for all others to have arrived, as two steps.
struct ClusterBarrier {
  u64 phase = 0;    // completed ones
  u32 arrived = 0;  // warps with lanes that have arrived
  AcquireClocks clocks,
      done_clocks;  // clocks that arrivals released, of the cluster's blocks, in all and in completed phases: only the foreign parts
  ProxyClocks async, done_async;

  void reset() {
    phase = arrived = 0;
    for (AcquireClocks* known : {&clocks, &done_clocks}) known->clear();
    for (ProxyClocks* known : {&async, &done_async}) known->clear();
  }
};

}  // namespace tilewright::rt::emulator
