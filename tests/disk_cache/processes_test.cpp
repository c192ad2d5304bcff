// The disk cache with many processes: writers at once in little space, and writers that are killed.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include "tests/scoped_cache.h"
#include "tilewright/cache.h"

extern char** environ;

namespace {

using tests::ScopedCache;

class Worker {
 public:
  Worker(int seed, int kernels, int distinct, const std::string& device = "cpu") {
    std::string words[] = {TW_WORKER, std::to_string(seed), std::to_string(kernels), std::to_string(distinct), device};
    char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), words[4].data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    REQUIRE(posix_spawn(&process_, TW_WORKER, &actions, nullptr, argv, environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
  }
  void kill() const { ::kill(process_, SIGKILL); }
  /// The exit code, or minus the signal.
  int wait() const {
    int status = 0;
    REQUIRE(waitpid(process_, &status, 0) == process_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t process_ = 0;
};

constexpr std::uint64_t kLimit = 400 << 10;
// Files that are being written when the last eviction counts.
constexpr std::uint64_t kInFlight = 16 * (16 << 10);

TEST_CASE("disk_cache: 16 processes that write and evict at once compute what they should and keep the limit") {
  const ScopedCache scope(std::to_string(kLimit));
  std::vector<Worker> workers;
  for (int i = 0; i < 16; ++i) workers.emplace_back(i, 60, 150);
  for (const Worker& w : workers) CHECK(w.wait() == 0);
  const tilewright::CacheStatistics s = tilewright::cache_statistics();
  CHECK(s.entries > 10);
  CHECK(s.bytes <= kLimit + kInFlight);
}

TEST_CASE("disk_cache: a second process compiles nothing") {
  const ScopedCache scope;
  for (const char* device : {"cpu", "emulator:sm_80"}) CHECK(Worker(1, 8, 4, device).wait() == 0);
  const auto files = [&] {
    std::vector<std::string> found;
    for (const auto& e : scope.entries()) found.push_back(e.filename().string() + tests::read_file(e));
    return found;
  };
  const std::uint64_t count = scope.entries().size();
  const auto size_before = std::filesystem::file_size(scope.code_folder() / "size");
  const auto before = files();
  for (const char* device : {"cpu", "emulator:sm_80"}) CHECK(Worker(1, 8, 4, device).wait() == 0);
  CHECK(count >= 4);
  CHECK(files() == before);
  CHECK(std::filesystem::file_size(scope.code_folder() / "size") == size_before);  // nothing was stored
}

// TILEWRIGHT_TEST_KILLS: how many; each takes about 60 ms.
TEST_CASE("disk_cache: processes that are killed at any time leave a cache that is whole") {
  const char* asked = getenv("TILEWRIGHT_TEST_KILLS");
  const int kills = asked ? std::atoi(asked) : 50;
  const ScopedCache scope(std::to_string(kLimit));
  std::mt19937 random(1);
  int killed = 0;
  for (int i = 0; i < kills; ++i) {
    // Two at once, so that each sees what the other's death leaves.
    const Worker a(i, 1000000, 150), b(i + 1, 1000000, 150);
    std::this_thread::sleep_for(std::chrono::microseconds(10000 + random() % 90000));
    for (const Worker* w : {&a, &b}) {
      w->kill();
      const int code = w->wait();
      CHECK(code == -SIGKILL);
      killed += code == -SIGKILL;
    }
  }
  CHECK(killed == 2 * kills);
  // Whole: no file is refused, every kernel is right, and what killed writers left is within the limit as soon as a store counts again.
  CHECK(Worker(7, 2000, 150).wait() == 0);
  const tilewright::CacheStatistics s = tilewright::cache_statistics();
  CHECK(s.entries > 0);
  CHECK(s.bytes <= kLimit + kInFlight);
}

}  // namespace
