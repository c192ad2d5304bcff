// The barriers of a block and of a cluster.
#pragma once
#include <array>

#include "runtime/emulator/shadow/acquire_clocks.h"

namespace tilewright::rt::emulator {

struct Barrier {
  u32 expected = 0;  // threads; 0: all threads of the block
  u32 arrived = 0;   // threads; a full warp counts as 32
  std::array<Mask, kMaxWarps> lanes{};
  AcquireClocks clocks;
  ProxyClocks async;
  ReleaseClocks released;  // the clocks that fences before the barrier released, of all warps
  u32 count = 0;           // for bar.red: lanes whose predicate is true
  u32 voters = 0;

  /// Resets the barrier. Clears only those parts of the clocks that were used.
  void reset() {
    expected = arrived = count = voters = 0;
    lanes = {};
    clocks.clear();
    async.clear();
    released = {};
  }
};

/// The barrier of all threads of a cluster. Arriving, and waiting until all others have arrived, are two separate steps.
struct ClusterBarrier {
  u64 phase = 0;    // number of completed phases
  u32 arrived = 0;  // warps of which some lanes have arrived
  AcquireClocks clocks,
      done_clocks;  // released by arrivals, for the cluster's blocks: in all and in completed phases; only parts of other blocks
  ProxyClocks async, done_async;

  void reset() {
    phase = arrived = 0;
    for (AcquireClocks* known : {&clocks, &done_clocks}) known->clear();
    for (ProxyClocks* known : {&async, &done_async}) known->clear();
  }
};

}  // namespace tilewright::rt::emulator
