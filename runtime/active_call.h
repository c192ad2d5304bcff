// Which threads are in a call of the library: the epochs that tell when an evicted kernel may be unloaded, and what fork() waits for.
#pragma once
#include <cstdint>
#include <new>

#include "tilewright/here.h"

namespace tilewright::rt {

/// A call of the library on this thread, for as long as this object lives: every public function that takes a lock, compiles or launches
/// has one. Calls within calls are one call. fork() waits until no other thread is in a call, and holds up new ones meanwhile, so the child
/// finds no lock taken and nothing half done.
///
/// Calls are also the read sides of epoch-based reclamation (K. Fraser, "Practical lock-freedom", 2004): what was unlinked from a shared
/// structure before next_epoch() gave `e` may be freed once oldest_epoch() >= e.
class ActiveCall {
 public:
  /// Throws Error at `where` in a child whose fork() found a thread that did not leave its call: it could hang at any lock.
  explicit ActiveCall(const Here& where);
  /// For destructors, which must do nothing if is_allowed() is false.
  explicit ActiveCall(std::nothrow_t) noexcept;
  ~ActiveCall();
  ActiveCall(const ActiveCall&) = delete;
  ActiveCall& operator=(const ActiveCall&) = delete;
  bool is_allowed() const noexcept;
};

/// The epoch of calls that begin from now on.
std::uint64_t next_epoch();
/// Of the calls under way in all threads, this one included; UINT64_MAX if there are none.
std::uint64_t oldest_epoch();

/// How many fork()s made this process. Threads that were started at another count are not there.
unsigned fork_count() noexcept;

}  // namespace tilewright::rt
