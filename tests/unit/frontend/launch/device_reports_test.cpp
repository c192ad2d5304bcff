// Prints and assertions of kernels on GPUs, from C++ to the printed lines.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/messages.h"
#include "tilewright/tilewright.h"

using namespace tilewright;

namespace {

using tilewright::test::error_of;
using tilewright::test::has;

struct Lines {
  Lines() {
    on_device_print([this](std::string_view line) { all.emplace_back(line); });
  }
  ~Lines() { on_device_print({}); }
  std::vector<std::string> all;
};

}  // namespace

TEST_CASE("device reports: a GPU's lines are the cpu's, once something waits") {
  const int line = __LINE__ + 3;
  Kernel kernel("prints", [](Ptr<const float> p, F64 d) {
    const auto x = load(p + arange(0, 4));
    device_print("{} {:.2f} {} {}", x, d, x.to<f16>() > 1.0f, program_id(1));
    for (auto i : range(0, 2)) device_print("{}", sum(x, 0) * i.to<float>());
  });
  std::vector<std::string> seen[2];
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    const Device device = Device::open(name);
    const bool is_gpu = device.name() != "cpu";
    const auto x = device.upload(std::vector<float>{0.5f, 1.75f, -3, 1e9f});
    const Lines lines;
    const Stream stream = device.stream();
    kernel({.grid = {1, 3}, .stream = stream}, x, 1.0 / 3);
    if (is_gpu) CHECK(lines.all.empty());
    stream.synchronize();
    REQUIRE(lines.all.size() == 9);
    seen[is_gpu] = lines.all;
    CHECK_MESSAGE(has(lines.all[0], "device_reports_test.cpp:" + std::to_string(line) + ": program (0, "), lines.all[0]);
  }
  for (auto& s : seen) std::sort(s.begin(), s.end());
  CHECK(seen[0] == seen[1]);
}

TEST_CASE("device reports: an assertion that does not hold on a GPU comes out of the launch, and the device goes on") {
  const int line = __LINE__ + 3;
  Kernel kernel("asserts", [](Ptr<std::int32_t> p, I32 n) {
    const auto i = program_id(0) * 256 + arange(0, 256);
    device_assert(load(p + i, i < n, -1) >= 0, "values are positive", i < n);
    store(p + i, 7, i < n);
  });
  std::vector<std::int32_t> values(1000, 1);
  values[700] = values[701] = values[900] = -5;
  std::string said[2];
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    const Device device = Device::open(name);
    auto p = device.upload(values);
    std::string& text = said[device.name() != "cpu"];
    text = error_of([&] { kernel({.grid = 4, .check = true}, p, 1000); });
    CHECK_MESSAGE(has(text, "device_reports_test.cpp:" + std::to_string(line) + ":"), text);
    CHECK(p.download() == std::vector<std::int32_t>(1000, 7));
    kernel({.grid = 4, .check = true}, p, 1000);
    p.upload(values);
    kernel({.grid = 4}, p, 1000);
    CHECK(p.download() == std::vector<std::int32_t>(1000, 7));
  }
  CHECK(said[0] == said[1]);
  CHECK(has(said[1], "values are positive (program (2, 0, 0), element [188]; 2 of 256 elements fail)"));
}

TEST_CASE("device reports: what was printed before an access outside of a buffer on the emulator is not lost") {
  const Device device = Device::open("emulator:sm_80");
  Kernel kernel("outside", [](Ptr<std::int32_t> p) {
    device_print("about to go wrong");
    store(p + (std::int64_t{1} << 44), 1);  // where no process has memory: another buffer may lie close by
  });
  auto p = device.allocate<std::int32_t>(4);
  const Lines lines;
  const std::string error = error_of([&] { kernel({.grid = 1}, p); });
  CHECK(has(error, "cuLaunchKernelEx: CUDA_ERROR_"));
  device.synchronize();
  REQUIRE(lines.all.size() == 1);
  CHECK(has(lines.all[0], "about to go wrong"));
}

TEST_CASE("device reports: an element outside of its buffer is named, also under a mask, where its value is stored") {
  const int line = __LINE__ + 3;
  Kernel kernel("picks", [](Ptr<const float> table, Ptr<const int> index, Ptr<float> out, I32 n) {
    const auto i = arange(0, 4);
    store(out + i, load(table + load(index + i, i < n), i < n), i < n);
  });
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    CAPTURE(name);
    const Device device = Device::open(name);
    const auto table = device.upload(std::vector<float>(24, 1));
    const auto index = device.upload(std::vector<int>{0, 1, -6, 2});
    auto out = device.allocate<float>(4);
    const std::string message = error_of([&] {
      kernel({.check = true}, table, index, out, 3);
      device.synchronize();
    });
    CHECK_MESSAGE(has(message, "device_reports_test.cpp:" + std::to_string(line)), message);
    CHECK_MESSAGE(has(message, "load of 4 bytes at index -6 of a buffer of 24 float elements"), message);
  }
}

TEST_CASE("device reports: threads that launch and wait at once lose no line and print none twice") {
  const Device device = Device::open("emulator:sm_80");
  Kernel one("one", [](I32 n) { device_print("one {}", n); });
  Kernel two("two", [](I32 n) { device_print("two {}", n); });
  const Lines lines;
  constexpr int kThreads = 3, kLaunches = 30;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const Stream own = device.stream();
      for (int i = 0; i < kLaunches; ++i) {
        const int number = 16 * (t * kLaunches + i) + 1;
        if (i % 3)
          one({.grid = 1, .stream = own}, number);
        else
          two({.grid = 1, .device = device}, number);  // the default stream, which all of them share
        if (i % 7 == t) own.synchronize();
        if (i % 11 == t) device.synchronize();
      }
    });
  for (std::thread& t : threads) t.join();
  device.synchronize();
  CHECK(lines.all.size() == kThreads * kLaunches);
  for (int k = 0; k < kThreads * kLaunches; ++k) {
    const std::string end = (k % kLaunches % 3 ? ": one " : ": two ") + std::to_string(16 * k + 1);
    CHECK(std::count_if(lines.all.begin(), lines.all.end(), [&](const std::string& l) { return l.ends_with(end); }) == 1);
  }
}
