// Deadlock detection: finds that no warp of a cluster can make progress.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "runtime/emulator/simd/scalar_types.h"
#include "runtime/emulator/state/block.h"

namespace tilewright::rt::emulator {

/// A warp's next step depends on its own state and on what it reads. So if a warp returns to an earlier state, and nothing has changed that
/// others can see, it is in a loop until another warp changes something; if all warps are in such loops, they are stuck forever. A warp
/// that waits stays in one state. A loop that counts or reads a clock has new states and is not found here, since it may end.
///   Example: LOOP: ld.acquire.gpu.u32 %r1, [flag]; setp.eq.u32 %p1, %r1, 0; @%p1 bra LOOP;    the same state after each turn
class DeadlockWatch {
 public:
  /// Called before another cluster begins.
  void reset() { *this = DeadlockWatch(); }
  /// Observes the blocks of a cluster after each warp has had a turn. `changes`: LaunchState::changes. Returns true if all their warps have
  /// returned to states in which they were since the last change.
  bool is_stuck(std::span<const std::unique_ptr<Block>> blocks, u64 changes);
  /// Whether the cluster was stuck at this number of changes.
  bool was_stuck_at(u64 changes) const { return stuck_at_ == changes; }
  /// Whether nothing has changed for a long time. A schedule that varies must from now on be the same in each turn.
  bool is_watching() const { return quiet_rounds_ >= kQuietRounds / 2; }

 private:
  // This many rounds without a change are normal; from then on states are compared. It must be a power of two.
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
