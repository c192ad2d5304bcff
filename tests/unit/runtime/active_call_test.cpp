// Calls and epochs, and children of fork() while other threads are in a call. The thread sanitizer reports threads of the parent
// as leaks in the child, and does not let the child start threads.
#include "runtime/active_call.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "runtime/host/thread_pool.h"
#include "tests/sanitizers.h"

using namespace tilewright;
using rt::ActiveCall;

namespace {

/// The return value of `body` in the child of a fork; -1 if a signal ended the child.
template <class F>
int code_of_child(F body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// A thread that is in a call for `duration`.
struct Busy {
  template <class D>
  explicit Busy(D duration) {
    thread = std::thread([this, duration] {
      const ActiveCall call(Here::current());
      is_in = true;
      std::this_thread::sleep_for(duration);
    });
    while (!is_in) std::this_thread::yield();
  }
  ~Busy() { thread.join(); }
  std::atomic<bool> is_in{false};
  std::thread thread;
};

}  // namespace

TEST_CASE("active_call: the oldest epoch is that of the longest call under way") {
  CHECK(rt::oldest_epoch() == UINT64_MAX);
  const ActiveCall outer(Here::current());
  const std::uint64_t began = rt::oldest_epoch();
  const std::uint64_t next = rt::next_epoch();
  CHECK(began < next);
  {
    const ActiveCall inner(Here::current());
    CHECK(rt::oldest_epoch() == began);
  }
  CHECK(rt::oldest_epoch() == began);
  std::thread([&] {
    const ActiveCall other(Here::current());
    CHECK(rt::oldest_epoch() == began);
  }).join();
}

TEST_CASE("active_call: fork waits for calls of other threads, and the child may call" * doctest::skip(test::kThreadSanitizer)) {
  const auto start = std::chrono::steady_clock::now();
  const Busy busy(std::chrono::milliseconds(200));
  const unsigned before = rt::fork_count();
  CHECK(code_of_child([&] {
          const ActiveCall call(Here::current());
          return call.is_allowed() && rt::fork_count() == before + 1 && rt::oldest_epoch() != UINT64_MAX ? 0 : 1;
        }) == 0);
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(200));
  CHECK(rt::fork_count() == before);
  const ActiveCall call(Here::current());
  CHECK(call.is_allowed());
}

TEST_CASE("active_call: a child of a fork that could not wait is told so at its first call" * doctest::skip(test::kThreadSanitizer)) {
  const Busy busy(std::chrono::milliseconds(6500));
  const auto body = [] {
    const int line = __LINE__ + 2;
    try {
      const ActiveCall call(Here::current());
    } catch (const Error& e) {
      const bool says_why = std::string(e.what()).find("this process was forked while another thread was in a call") != std::string::npos;
      return says_why && e.where().line == line && !ActiveCall(std::nothrow).is_allowed() ? 0 : 2;
    }
    return 1;
  };
  CHECK(code_of_child(body) == 0);
  const ActiveCall call(Here::current());  // the parent continues
  CHECK(call.is_allowed());
}

TEST_CASE("active_call: a thread pool has workers of its own in a child" * doctest::skip(test::kThreadSanitizer)) {
  rt::ThreadPool pool(3);
  const auto sum = [&] {
    std::atomic<std::int64_t> total{0};
    pool.run(1000, [&](rt::Chunks& chunks) {
      for (rt::Chunks::Range r; chunks.next(r);)
        for (auto i = r.begin; i < r.end; ++i) total += i;
    });
    return total.load();
  };
  CHECK(sum() == 499500);
  for (int i = 0; i < 5; ++i) CHECK(code_of_child([&] { return sum() == 499500 && sum() == 499500 ? 0 : 1; }) == 0);
  // In the child, a pool of the parent has no threads to join when it is destroyed.
  CHECK(code_of_child([&] {
          pool.~ThreadPool();
          return 0;
        }) == 0);
  CHECK(sum() == 499500);
}
