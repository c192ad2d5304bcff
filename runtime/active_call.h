// Tracks which threads are in a call of the library, for epoch-based reclamation of evicted kernels and for fork().
#pragma once
#include <cstdint>
#include <new>

#include "runtime/float_environment.h"
#include "tilewright/here.h"

namespace tilewright::rt {

/// Marks a call of the library on this thread while this object lives: every public function that takes a lock, compiles or launches has
/// one. Nested calls count as one. fork() waits until no other thread is in a call and blocks new calls meanwhile, so that in the child no
/// lock is held and no state is half changed. A call computes in the default floating-point environment, and so do the threads that it starts,
/// since a thread begins with the modes of the thread that starts it.
///
/// Calls are also the read sides of epoch-based reclamation (K. Fraser, "Practical lock-freedom", 2004): an object that was unlinked from a
/// shared structure before next_epoch() returned `e` may be freed once oldest_epoch() >= e.
class ActiveCall {
 public:
  /// Throws Error at `where` in a child whose fork() gave up waiting for another thread's call: a lock might be held forever.
  explicit ActiveCall(const Here& where);
  /// For destructors, which must do nothing if is_allowed() is false.
  explicit ActiveCall(std::nothrow_t) noexcept;
  ~ActiveCall();
  ActiveCall(const ActiveCall&) = delete;
  ActiveCall& operator=(const ActiveCall&) = delete;
  bool is_allowed() const noexcept;

 private:
  bool gives_slot_back_ = false;
  const DefaultFloatEnvironment float_environment_;
};

/// Advances the epoch and returns it: the epoch of calls that begin from now on.
std::uint64_t next_epoch();
/// The oldest epoch of the active calls of all threads, including this one; UINT64_MAX if there are none.
std::uint64_t oldest_epoch();

/// The number of fork()s between the first process and this one. Threads that were started at another count do not exist in this process.
unsigned fork_count() noexcept;

}  // namespace tilewright::rt
