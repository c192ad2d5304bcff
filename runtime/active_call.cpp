// Keeps a slot for each thread's call, and handles fork().
#include "runtime/active_call.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace tilewright::rt {

namespace {

// How long fork() waits for calls of other threads: longer than all but the largest compilations.
constexpr auto kPatience = std::chrono::seconds(5);

/// The state of a thread's call, which other threads read. Slots are never freed, so they can be read at any time; the slot of a thread
/// that has ended is reused for another thread.
struct alignas(64) Slot {
  std::atomic<std::uint64_t> epoch{0};  // epoch of the call; 0: not in a call
  std::atomic<bool> in_use{true};
  int depth = 0;  // depth of nested calls; used only by the slot's own thread
  Slot* next = nullptr;
};

// Global, since threads and fork() belong to the process.
std::atomic<Slot*> slots{nullptr};
std::atomic<std::uint64_t> current_epoch{1};
std::atomic<int> forking{0};  // number of threads that are about to fork
std::atomic<unsigned> forks{0};
std::atomic<bool> unusable{false};  // set in a child of a fork that gave up waiting
constinit thread_local Slot* own = nullptr;

/// Returns the thread's slot when the thread ends.
struct Leave {
  ~Leave() {
    own->in_use.store(false, std::memory_order_release);
    own = nullptr;
  }
};

void take_slot() {
  for (Slot* s = slots.load(); s && !own; s = s->next)
    if (bool was_in_use = false; s->in_use.compare_exchange_strong(was_in_use, true)) own = s;
  if (!own) {
    own = new Slot;
    own->next = slots.load();
    while (!slots.compare_exchange_weak(own->next, own)) continue;
  }
}

/// Makes the thread keep its slot until it ends.
void keep_slot() {
  if (!own) take_slot();
  static thread_local Leave leave;
  static_cast<void>(leave);
}

/// Requires: the thread has a slot.
void enter() {
  Slot& slot = *own;
  if (slot.depth++ > 0) return;
  while (true) {
    // Sequentially consistent, like the reader's load of the shared pointer and the writer's unlinking and its load of this slot: then
    // either the writer sees this call or the reader sees the new pointer. `forking` works in the same way.
    slot.epoch.store(current_epoch.load());
    const int waiting = forking.load();
    if (waiting == 0) return;
    slot.epoch.store(0);
    forking.wait(waiting);
  }
}

/// Waits until no other thread is in a call; returns false if the time runs out first.
bool others_left() {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (const Slot* s = slots.load(); s; s = s->next)
    while (s != own && s->epoch.load() != 0) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  return true;
}

constinit thread_local bool clean = true;  // carried from before fork() to the child

void before_fork() {
  ++forking;
  clean = others_left();
}

void after_fork_in_parent() {
  --forking;
  forking.notify_all();
}

void after_fork_in_child() {
  for (Slot* s = slots.load(); s; s = s->next) {
    if (s == own) continue;
    s->epoch.store(0);
    s->depth = 0;
    s->in_use.store(false);
  }
  if (!clean) unusable.store(true);
  ++forks;
  forking.store(0);
}

// The handlers are registered when the library is loaded; if this were done later, a fork() could come first.
[[maybe_unused]] const int registered = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);

}  // namespace

ActiveCall::ActiveCall(const Here& where) {
  if (unusable.load(std::memory_order_relaxed)) [[unlikely]]
    throw Error(
        detail::location_of(where),
        fmt::format("this process was forked while another thread was in a call of the library, which did not end within {} s; such "
                    "a process cannot use the library: fork when no kernel is compiled or running, or call exec",
                    kPatience.count()));
  if (!own) keep_slot();
  enter();
}

// A destructor may run while the shared object that contains this library is being unloaded. A thread-exit destructor that is registered at
// that time would be called when its code is gone, so such a call does not keep its slot beyond the call.
ActiveCall::ActiveCall(std::nothrow_t) noexcept : gives_slot_back_(!own) {
  if (!own) take_slot();
  enter();
}

ActiveCall::~ActiveCall() {
  if (--own->depth == 0) own->epoch.store(0, std::memory_order_release);
  if (!gives_slot_back_) return;
  own->in_use.store(false, std::memory_order_release);
  own = nullptr;
}

bool ActiveCall::is_allowed() const noexcept { return !unusable.load(std::memory_order_relaxed); }

std::uint64_t next_epoch() { return current_epoch.fetch_add(1) + 1; }

std::uint64_t oldest_epoch() {
  std::uint64_t oldest = UINT64_MAX;
  for (const Slot* s = slots.load(); s; s = s->next)
    if (const std::uint64_t epoch = s->epoch.load(); epoch != 0) oldest = std::min(oldest, epoch);
  return oldest;
}

unsigned fork_count() noexcept { return forks.load(std::memory_order_relaxed); }

}  // namespace tilewright::rt
