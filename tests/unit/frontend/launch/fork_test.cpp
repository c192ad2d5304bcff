// Children of fork() that use the library while other threads of the parent compile and launch.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "tests/sanitizers.h"
#include "tilewright/tilewright.h"

namespace tw = tilewright;

namespace {

void scale(tw::Ptr<float> x, tw::I32 n, int factor) {
  const auto i = tw::program_id(0) * 64 + tw::arange(0, 64);
  tw::store(x + i, tw::load(x + i, i < n) * static_cast<float>(factor), i < n);
}

bool scales(const tw::Kernel<void(tw::Ptr<float>, tw::I32, int)>& kernel, const tw::Device& device, int factor) {
  auto x = device.upload(std::vector<float>(1000, 2));
  kernel({.grid = 16}, x, 1000, factor);
  return x.download() == std::vector<float>(1000, 2.0f * static_cast<float>(factor));
}

}  // namespace

// This test does not run under sanitizers: the thread sanitizer refuses threads in a child, and the allocator of GCC 12's address sanitizer
// does not release its lock in a child if another thread held it at the fork.
TEST_CASE("fork: children use the library while threads of the parent compile and launch" *
          doctest::skip(tw::test::kThreadSanitizer || tw::test::kAddressSanitizer)) {
  const tw::Kernel kernel("scale", scale);
  const tw::Device cpu = tw::Device::open("cpu"), emulator = tw::Device::open("emulator:sm_80");
  std::atomic<bool> done{false};
  std::atomic<int> factor{1000}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!done) wrong += !scales(kernel, cpu, ++factor);  // each a specialization of its own
    });
  int worked = 0;
  constexpr int kForks = 24;
  for (int k = 0; k < kForks; ++k) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);  // a child that hangs is ended
      const bool good = scales(kernel, cpu, 2) && scales(kernel, k % 2 ? emulator : cpu, 3 + k) &&
                        scales(tw::Kernel("own", scale), tw::Device::open("cpu"), 7);
      // Every other child runs the destructors of statics.
      if (k % 2) std::exit(good ? 0 : 1);
      _exit(good ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    worked += WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  done = true;
  for (std::thread& t : threads) t.join();
  CHECK(worked == kForks);
  CHECK(wrong == 0);
}
