// Deadlock detection: finds that no warp of a cluster can do anything new.
#pragma once
#include <vector>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

struct Cluster;

/// What a warp does next depends on its own state and on what it reads. So a warp that comes back to a state that it was in, while nothing
/// has changed that others can see, goes round in a loop until another warp changes something; and warps that all do are stuck for good.
/// A warp that waits stays in one state. A loop that counts, or that reads a clock, has new states and is not found here: its end may come.
///   Example: LOOP: ld.acquire.gpu.u32 %r1, [flag]; setp.eq.u32 %p1, %r1, 0; @%p1 bra LOOP;    the same state after each turn
class DeadlockWatch {
 public:
  /// Another cluster begins.
  void reset() { *this = DeadlockWatch(); }
  /// Looks at a cluster after each warp has had a turn. `changes`: Launch::changes. True if all its warps have come back to states that
  /// they were in since the last change.
  bool is_stuck(const Cluster&, u64 changes);
  /// Whether it was stuck after so many changes.
  bool was_stuck_at(u64 changes) const { return stuck_at_ == changes; }
  /// Nothing has changed for long. A schedule that varies has to be the same in each turn from now on.
  bool is_watching() const { return quiet_rounds_ >= kQuietRounds / 2; }

 private:
  // So many rounds without a change are nothing special: states are compared from then on. A power of two.
  static constexpr u64 kQuietRounds = 64;
  struct Seen {
    u64 state = 0;  // a hash
    bool repeats = false;
  };
  u64 changes_ = 0, quiet_rounds_ = 0;
  u64 stuck_at_ = ~u64{0};
  std::vector<Seen> warps_;  // of all blocks
};

}  // namespace tilewright::rt::emulator
