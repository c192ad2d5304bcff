// Launches on threads of the application: every program runs once however the executor makes its calls, kernels and plans give the same bits as
// on the library's own threads, and mistakes are errors at the user's line.
#include "tilewright/executor.h"

#include <doctest/doctest.h>

#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>

#include "tests/messages.h"
#include "tilewright/graph.h"
#include "tilewright/tilewright.h"

namespace tw = tilewright;

namespace {

using Task = std::function<void()>;

/// Runs each call on a thread of its own.
void run_on_new_threads(int count, const Task& task) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(task);
  for (std::thread& thread : threads) thread.join();
}

/// One element a program.
void add_index(tw::Ptr<int> out) {
  const auto i = tw::program_id(0);
  tw::store(out + i, tw::load(out + i) + i);
}

/// How often each of `programs` programs ran.
std::vector<int> runs_of(const tw::Device& device, int programs) {
  const tw::Kernel kernel("add_index", add_index);
  auto out = device.upload(std::vector<int>(static_cast<std::size_t>(programs), 1));
  kernel({.grid = programs}, out);
  std::vector<int> values = out.download();
  for (int i = 0; i < programs; ++i) values[static_cast<std::size_t>(i)] -= i;
  return values;
}

using tilewright::test::error_of;
using tilewright::test::has;

}  // namespace

TEST_CASE("executor: programs run once each, whether it makes its calls at once, one after another, or not all of them") {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  int most = 0;
  const auto noted = [&](int count, const Task& task) {
    most = std::max(most, count);
    run_on_new_threads(count, [&] {
      {
        const std::lock_guard lock(mutex);
        seen.insert(std::this_thread::get_id());
      }
      task();
    });
  };
  const auto in_turn = [](int count, const Task& task) {
    for (int i = 0; i < count; ++i) task();
  };
  const auto once = [](int, const Task& task) { task(); };
  const auto never = [](int, const Task&) {};
  for (const auto& run : {std::function<void(int, const Task&)>(noted), {in_turn}, {once}, {never}})
    for (const int threads : {1, 3}) {
      const tw::Device device = tw::open_device({threads, run});
      for (const int programs : {1, 2, 3, 100, 1000})
        CHECK(runs_of(device, programs) == std::vector<int>(static_cast<std::size_t>(programs), 1));
    }
  CHECK(most == 3);
  CHECK(!seen.empty());
}

TEST_CASE("executor: its exception is thrown by the launch, whose programs have all ended, and the device goes on") {
  int left = 1;
  const tw::Device device = tw::open_device({2, [&left](int count, const Task& task) {
                                               task();
                                               if (left-- > 0) throw std::runtime_error("the pool has been stopped");
                                               for (int i = 1; i < count; ++i) task();
                                             }});
  CHECK_THROWS_WITH_AS((void)runs_of(device, 100), doctest::Contains("the pool has been stopped"), std::runtime_error);
  CHECK(runs_of(device, 100) == std::vector<int>(100, 1));
}

TEST_CASE("executor: if it throws, before its calls or after some, every program of the launch has run once") {
  const tw::Kernel add("add", [](tw::Ptr<int> x) { tw::store(x + tw::program_id(0), tw::load(x + tw::program_id(0)) + 1); });
  for (const int calls : {0, 1, 2}) {
    CAPTURE(calls);
    const tw::Device device = tw::open_device({2, [&](int, const Task& task) {
                                                 for (int i = 0; i < calls; ++i) task();
                                                 throw std::runtime_error("no threads");
                                               }});
    auto x = device.upload(std::vector<int>(1000));
    CHECK_THROWS_WITH_AS(add({.grid = 1000}, x), doctest::Contains("no threads"), std::runtime_error);
    CHECK(x.download() == std::vector<int>(1000, 1));
  }
}

TEST_CASE("executor: plans and the kernel library choose tiles for its threads, and their values are those of the library's threads") {
  const tw::Device own = tw::open_device({3, run_on_new_threads}), device = tw::Device::open("cpu");
  CHECK(own.name() == "cpu on an executor of 3 threads");
  CHECK(has(own.description(), "3 threads"));
  tw::Graph g;
  const auto rows = g.dim("rows");
  const auto x = g.input<float>("x", {rows, 96}), w = g.input<float>("w", {96, 130});
  g.output("y", tw::silu(tw::matmul(x, w)));
  std::vector<float> values(200 * 96), weights(96 * 130);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 37) * 0.25f - 4;
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 29) * 0.125f - 2;
  const auto result = [&](const tw::Device& d) {
    const auto bx = d.upload(values), bw = d.upload(weights);
    auto y = d.allocate<float>(200 * 130);
    g.compile(d).run({{"x", bx}, {"w", bw}, {"y", y}});
    return y.download();
  };
  CHECK(result(own) == result(device));
}

TEST_CASE("executor: mistakes are errors at the user's line") {
  CHECK(has(error_of([] { (void)tw::open_device({0, run_on_new_threads}); }), "the executor has 0 threads; it must have at least 1"));
  CHECK(has(error_of([] { (void)tw::open_device({2, nullptr}); }), "the executor has no function 'run'"));
  CHECK(has(error_of([] { (void)tw::open_device({2, run_on_new_threads}, "emulator:sm_80"); }), "not of 'emulator:sm_80'"));
  CHECK(has(error_of([] { (void)tw::open_device({2, run_on_new_threads}, "cpu:fast"); }), "no device 'cpu:fast'"));
  CHECK(has(error_of([] { (void)tw::open_device({2, nullptr}); }), "executor_test.cpp:"));
  const tw::Device own = tw::open_device({2, run_on_new_threads}), device = tw::Device::open("cpu");
  const auto x = own.upload(std::vector<int>(4));
  const auto y = device.upload(std::vector<int>(4));
  const tw::Kernel kernel("copy", [](tw::Ptr<const int> from, tw::Ptr<int> to) { tw::store(to, tw::load(from)); });
  CHECK(has(error_of([&] { kernel({}, y, own.upload(std::vector<int>(4))); }), "is on device 'cpu on an executor of 2 threads'"));
}
