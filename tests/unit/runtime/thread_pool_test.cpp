// The thread pool: each program instance runs once, chunks start in increasing order, many callers may use it at once, and each caller gets
// its own exceptions.
#include "runtime/host/thread_pool.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/host/scratch.h"
#include "tests/sanitizers.h"

using tilewright::rt::Chunks;
using tilewright::rt::ScratchPool;
using tilewright::rt::ThreadPool;

namespace {
std::vector<int> count_runs(ThreadPool& pool, std::int64_t total) {
  std::vector<int> runs(total);
  pool.run(total, [&](Chunks& chunks) {
    for (Chunks::Range r; chunks.next(r);)
      for (auto i = r.begin; i < r.end; ++i) ++runs[i];
  });
  return runs;
}
}  // namespace

TEST_CASE("thread_pool: each program runs exactly once") {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (std::int64_t total : {0, 1, 2, 3, 17, 1000}) CHECK(count_runs(pool, total) == std::vector<int>(total, 1));
  }
}

TEST_CASE("thread_pool: one thread takes all programs at once") {
  ThreadPool pool(1);
  pool.run(1000, [&](Chunks& chunks) {
    Chunks::Range r;
    REQUIRE(chunks.next(r));
    CHECK(r.begin == 0);
    CHECK(r.end == 1000);
    CHECK(!chunks.next(r));
  });
}

// Sanitizers need the memory that is taken away here.
TEST_CASE("thread_pool: where no thread can be started, the caller does the work" *
          doctest::skip(tilewright::test::kAddressSanitizer || tilewright::test::kThreadSanitizer)) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // There is no memory for the stacks of threads.
    std::int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto bytes = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + (4 << 20));
    const rlimit least{bytes, bytes};
    if (setrlimit(RLIMIT_AS, &least) != 0) _exit(2);
    try {
      ThreadPool pool(5000);
      for (int i = 0; i < 2; ++i)
        if (count_runs(pool, 100'000) != std::vector<int>(100'000, 1)) _exit(3);
    } catch (const std::exception&) {
      _exit(4);
    }
    _exit(0);  // without the destructors of the parent's objects
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("thread_pool: a grid of one program runs on the caller") {
  ThreadPool pool(4);
  std::thread::id ran;
  pool.run(1, [&](Chunks& chunks) {
    ran = std::this_thread::get_id();
    for (Chunks::Range r; chunks.next(r);) CHECK(r.end == 1);
  });
  CHECK(ran == std::this_thread::get_id());
}

TEST_CASE("thread_pool: programs that wait for lower-numbered ones do not deadlock") {
  ThreadPool pool(4);
  std::atomic<std::int64_t> turn{0};
  pool.run(500, [&](Chunks& chunks) {
    for (Chunks::Range r; chunks.next(r);)
      for (auto i = r.begin; i < r.end; ++i) {
        while (turn.load() != i) std::this_thread::yield();
        turn.store(i + 1);
      }
  });
  CHECK(turn == 500);
}

TEST_CASE("thread_pool: many callers at once each get their own work done") {
  ThreadPool pool(3);
  std::vector<int> good(6);
  std::vector<std::thread> callers;
  for (int& ok : good)
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) ok += count_runs(pool, 40 + i) == std::vector<int>(40 + i, 1);
    });
  for (auto& t : callers) t.join();
  CHECK(good == std::vector<int>(6, 50));
}

TEST_CASE("thread_pool: a job whose programs block does not hold up another caller") {
  ThreadPool pool(2);
  std::atomic<bool> release{false};
  std::thread blocked([&] {
    pool.run(2, [&](Chunks& chunks) {
      for (Chunks::Range r; chunks.next(r);)
        while (!release) std::this_thread::yield();
    });
  });
  CHECK(count_runs(pool, 100) == std::vector<int>(100, 1));
  release = true;
  blocked.join();
}

TEST_CASE("thread_pool: an exception stops its job and is thrown to its caller; the pool goes on") {
  ThreadPool pool(3);
  std::atomic<int> ran{0};
  CHECK_THROWS_WITH_AS(pool.run(1000,
                                [&](Chunks& chunks) {
                                  for (Chunks::Range r; chunks.next(r);) {
                                    ++ran;
                                    throw std::runtime_error("program failed");
                                  }
                                }),
                       "program failed", std::runtime_error);
  CHECK(ran <= 3);
  CHECK(count_runs(pool, 64) == std::vector<int>(64, 1));
}

TEST_CASE("scratch: arenas are aligned, distinct while leased, and reused") {
  ScratchPool pool;
  std::byte* first;
  {
    const auto a = pool.acquire(100), b = pool.acquire(1000);
    CHECK(a.data() != b.data());
    CHECK(reinterpret_cast<std::uintptr_t>(a.data()) % 64 == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(b.data()) % 64 == 0);
    first = a.data();
  }
  CHECK(pool.acquire(100).data() == first);
}
