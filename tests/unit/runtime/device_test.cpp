// Devices, buffers, streams and events through the public classes; each error names the user's line.
#include "tilewright/device.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <numeric>

#include "runtime/device.h"
#include "runtime/environment.h"
#include "runtime/host/cpu_model.h"
#include "runtime/log.h"
#include "tests/messages.h"

using namespace tilewright;

namespace {

using tilewright::test::has;

// The text of the Error that f throws, if it names a line of this file within f.
template <class F>
std::string error_of(F&& f, Here first = Here::current()) {
  try {
    f();
  } catch (const Error& e) {
    const bool here = has(e.where().file, "device_test.cpp") && e.where().line >= static_cast<int>(first.line()) &&
                      e.where().line < static_cast<int>(first.line()) + 4;
    return here ? e.what() : std::string("wrong location: ") + e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("device: the best one opens, and one name is one device") {
  const auto all = Device::list();
  const bool has_gpu = all[1].usable;
  Device a = Device::open(), b = Device::open(has_gpu ? "cuda:0" : "cpu");
  CHECK(a.name() == b.name());
  CHECK(a.handle() == b.handle());
  CHECK_FALSE(a.description().empty());
  CHECK(a.free_memory() > 0);
  a.synchronize();
}

TEST_CASE("device: the list says what is usable and why the rest is not") {
  const auto all = Device::list();
  REQUIRE(all.size() >= 2);
  CHECK(all[0].name == "cpu");
  CHECK(all[0].usable);
  CHECK(all[0].reason.empty());
  CHECK(all[1].name == "cuda:0");
  CHECK(all[1].usable == all[1].reason.empty());
  if (all[1].usable) CHECK_FALSE(all[1].description.empty());
  CHECK(all.back().name == "emulator:sm_120");
  for (const DeviceInfo& d : all)
    if (d.usable) CHECK(Device::open(d.name).name() == d.name);
}

TEST_CASE("device: an absent device says what there is and why") {
  for (const char* name : {"cuda:99", "emulator:sm_8", "emulator", "emulator:", "cpu:x86-64-v9", "gpu", ""}) {
    const std::string text = error_of([&] { (void)Device::open(name); });
    CHECK_MESSAGE(has(text, "no device '" + std::string(name) + "': "), text);
    CHECK_MESSAGE(has(text, "there is: cpu"), text);
    CHECK_MESSAGE(!has(text, "wrong location"), text);
  }
}

TEST_CASE("device: the levels of cpu that this machine has open as devices of their own") {
  CHECK(Device::open("cpu:x86-64").name() == "cpu:x86-64");
  CHECK(Device::open("cpu:x86-64").handle() != Device::open("cpu").handle());
  for (const char* level : {"x86-64-v3", "x86-64-v4"})
    if (rt::reason_against_level(level).empty()) CHECK(Device::open(std::string("cpu:") + level).name() == std::string("cpu:") + level);
}

TEST_CASE("buffer: upload and download return the same values, for every element type") {
  Device device = Device::open("cpu");
  std::vector<float> f(1000);
  std::iota(f.begin(), f.end(), 0.5f);
  CHECK(device.upload(f).download() == f);
  const std::vector<bool> b{true, false, true, true};
  Buffer<bool> bools = device.upload(b);
  CHECK(bools.download() == b);
  CHECK(device.upload(std::span(f)).size() == 1000);
  CHECK(device.upload(std::span<const float>(f).first(10)).download() == std::vector<float>(f.begin(), f.begin() + 10));
  const std::vector<f16> h{f16(1.5f), f16(-2.0f)};
  CHECK(device.upload(h).download() == h);
  const std::vector<double> d{1, 2, 3};
  std::vector<double> into(3);
  device.upload(d).download(std::span(into));
  CHECK(into == d);
}

TEST_CASE("buffer: memory is aligned, empty buffers are fine") {
  Device device = Device::open("cpu");
  for (std::int64_t n : {0, 1, 1000, 3 << 20}) {
    auto buffer = device.allocate<std::int8_t>(n);
    CHECK(buffer.size() == static_cast<std::size_t>(n));
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64 == 0);
  }
  auto empty = device.allocate<float>(0);
  CHECK(empty.data() != nullptr);
  CHECK(empty.download().empty());
  empty.fill(1);
}

TEST_CASE("buffer: fill writes every element, whatever its width") {
  Device device = Device::open("cpu");
  auto i = device.allocate<int>(7);
  i.fill(-3);
  CHECK(i.download() == std::vector<int>(7, -3));
  auto d = device.allocate<double>(1001);
  d.fill(0.25);
  CHECK(d.download() == std::vector<double>(1001, 0.25));
  auto b = device.allocate<std::uint8_t>(1);
  b.fill(9);
  CHECK(b.download() == std::vector<std::uint8_t>{9});
}

TEST_CASE("buffer: wrap neither copies nor owns") {
  Device device = Device::open("cpu");
  std::vector<float> mine(8, 1.0f);
  {
    auto buffer = device.wrap(mine.data(), mine.size());
    CHECK(buffer.data() == mine.data());
    buffer.fill(2);
  }
  CHECK(mine == std::vector<float>(8, 2.0f));
}

TEST_CASE("buffer: moving hands over the memory, the moved-from one is an error to use") {
  Device device = Device::open("cpu");
  auto a = device.upload(std::vector<int>{1, 2, 3});
  const int* data = a.data();
  auto b = std::move(a);
  CHECK(b.data() == data);
  CHECK(a.size() == 0);
  CHECK(has(error_of([&] { (void)a.download(); }), "this buffer is empty"));
  CHECK(has(error_of([&] { a.fill(1); }), "this buffer is empty"));
  CHECK(has(error_of([&] { a.upload(std::vector<int>{1}); }), "this buffer is empty"));
  a = std::move(b);
  CHECK(a.download() == std::vector<int>{1, 2, 3});
}

TEST_CASE("buffer: a buffer keeps its device, and the registry knows live buffers only") {
  Buffer<float> kept;
  std::size_t before;
  {
    Device device = Device::open("cpu:x86-64");
    before = device.handle()->memory().snapshot().size();
    kept = device.upload(std::vector<float>{4, 5});
    CHECK(device.handle()->memory().snapshot().size() == before + 1);
  }
  CHECK(kept.download() == std::vector<float>{4, 5});
  kept = {};
  CHECK(Device::open("cpu:x86-64").handle()->memory().snapshot().size() == before);
}

TEST_CASE("buffer: mistakes name the line and the sizes") {
  Device device = Device::open("cpu");
  auto x = device.allocate<float>(12);
  std::vector<float> ten(10);
  CHECK(has(error_of([&] { x.upload(ten); }), "error: upload: the host side has 10 elements, the buffer 12"));
  CHECK(has(error_of([&] { x.download(std::span(ten)); }), "error: download: the host side has 10 elements, the buffer 12"));
  CHECK(has(error_of([&] { (void)device.allocate<float>(-1); }), "error: allocate: the number of elements is -1"));
  CHECK(has(error_of([&] { (void)device.wrap(ten.data(), -5); }), "error: wrap: the number of elements is -5"));
  CHECK(has(error_of([&] { (void)device.wrap(static_cast<float*>(nullptr), 5); }), "error: wrap: the pointer is null"));
  CHECK(has(error_of([&] { (void)device.wrap(reinterpret_cast<float*>(reinterpret_cast<char*>(ten.data()) + 1), 2); }),
            "not aligned to 4 bytes"));
  CHECK(has(error_of([&] { (void)device.allocate<double>(std::int64_t{1} << 61); }), "out of memory: 2305843009213693952 double elements"));
  CHECK_THROWS_AS((void)device.allocate<float>(std::int64_t{1} << 50), DeviceError);
}

TEST_CASE("stream: events measure time and belong to their device") {
  Device device = Device::open("cpu");
  const Stream s = device.stream();
  const Event first = s.record(), second = s.record();
  CHECK(first.elapsed_ms(second) >= 0);
  CHECK(first.elapsed_ms(first) == 0);
  CHECK(second.elapsed_ms(first) <= 0);
  s.wait(second);
  s.synchronize();
  CHECK(s.native() == nullptr);
  CHECK(has(error_of([&] { (void)device.wrap_stream(nullptr); }), "device 'cpu' has no driver whose streams could be wrapped"));

  const Stream other = Device::open("cpu:x86-64").stream();
  const Event elsewhere = other.record();
  CHECK(has(error_of([&] { s.wait(elsewhere); }), "the event is of device 'cpu:x86-64', the stream of device 'cpu'"));
  CHECK(has(error_of([&] { (void)first.elapsed_ms(elsewhere); }), "the events are of two devices"));
  CHECK(has(error_of([&] { Stream().synchronize(); }), "this stream is none"));
  CHECK(has(error_of([&] { (void)Stream().record(); }), "this stream is none"));
  CHECK(has(error_of([&] { s.wait(Event()); }), "this event is none"));
  CHECK(has(error_of([&] { (void)Event().elapsed_ms(first); }), "this event is none"));
}

TEST_CASE("environment: the number of threads is a positive number or nothing") {
  const std::string before = rt::environment_threads() ? std::to_string(rt::environment_threads()) : "";
  for (auto [text, want] : {std::pair{"3", 3}, {"0", 0}, {"-2", 0}, {"4x", 0}, {"", 0}}) {
    setenv("TILEWRIGHT_THREADS", text, 1);
    CHECK(rt::environment_threads() == want);
  }
  for (const char* text : {"abc", "0", "-3", "99999999999999"}) {
    setenv("TILEWRIGHT_THREADS", text, 1);
    const std::string message = error_of([&] { (void)Device::open("cpu"); });
    CHECK_MESSAGE(has(message, fmt::format("TILEWRIGHT_THREADS is '{}'; it must be a positive number", text)), message);
    CHECK(has(message, "device_test.cpp:"));
  }
  before.empty() ? unsetenv("TILEWRIGHT_THREADS") : setenv("TILEWRIGHT_THREADS", before.c_str(), 1);
}

TEST_CASE("environment: the level of the log is one of three, or off") {
  const char* const before = getenv("TILEWRIGHT_LOG");
  const std::string level = before ? before : "";
  for (const char* text : {"xyz", "1", "Debug", "warn"})
    for (const char* device : {"cpu", "emulator:sm_80"}) {
      setenv("TILEWRIGHT_LOG", text, 1);
      const std::string message = error_of([&] { (void)Device::open(device); });
      CHECK_MESSAGE(has(message, fmt::format("TILEWRIGHT_LOG is '{}'; it must be debug, info, warning or off", text)), message);
      CHECK(has(message, "device_test.cpp:"));
    }
  for (const char* text : {"debug", "info", "warning", "off", "OFF", ""}) {
    setenv("TILEWRIGHT_LOG", text, 1);
    CHECK(rt::environment_log_mistake() == "");
  }
  before ? setenv("TILEWRIGHT_LOG", level.c_str(), 1) : unsetenv("TILEWRIGHT_LOG");
}

TEST_CASE("environment: a value that a variable does not take is an error of the line that opens a device") {
  struct Row {
    const char *variable, *value, *device, *expected;
  };
  const Row rows[] = {{"TILEWRIGHT_CHECK", "maybe", "cpu", "1, true, on or yes, or 0, false, off or no"},
                      {"TILEWRIGHT_CHECK", "2", "emulator:sm_80", "1, true, on or yes, or 0, false, off or no"},
                      {"TILEWRIGHT_CACHE", "/dev/null", "cpu", "a folder, or off"},
                      {"TILEWRIGHT_CACHE_LIMIT", "xyz", "cpu", "a number of bytes, such as 200M"},
                      {"TILEWRIGHT_CACHE_LIMIT", "-1", "cpu", "a number of bytes, such as 200M"},
                      {"TILEWRIGHT_EMULATOR_ASYNC", "foo", "emulator:sm_80", "lazy, eager, random or random:SEED"},
                      {"TILEWRIGHT_EMULATOR_ORDER", "random:x", "emulator:sm_80", "forward, backward, random or random:SEED"},
                      {"TILEWRIGHT_EMULATOR_LIMIT", "many", "emulator:sm_80", "a number of warp instructions, or 0 for none"}};
  for (const Row& row : rows) {
    const char* const before = getenv(row.variable);
    const std::string value = before ? before : "";
    setenv(row.variable, row.value, 1);
    const std::string message = error_of([&] { (void)Device::open(row.device); });
    before ? setenv(row.variable, value.c_str(), 1) : unsetenv(row.variable);
    CHECK_MESSAGE(has(message, fmt::format("{} is '{}'; it must be {}", row.variable, row.value, row.expected)), message);
    CHECK(has(message, "device_test.cpp:"));
  }
  for (const char* text : {"1", "On", "yes", "TRUE", "0", "off", ""}) {
    setenv("TILEWRIGHT_CHECK", text, 1);
    CHECK(rt::environment_check_mistake() == "");
  }
  unsetenv("TILEWRIGHT_CHECK");
}

TEST_CASE("environment: off is understood in capital letters too") {
  const char* const before = getenv("TILEWRIGHT_CACHE");
  const std::string cache = before ? before : "";
  for (const char* text : {"OFF", "Off", "off", "No", "0", "FALSE"}) {
    setenv("TILEWRIGHT_CACHE", text, 1);
    setenv("TILEWRIGHT_WISDOM", text, 1);
    CHECK(rt::environment_cache() == "");
    CHECK(rt::environment_wisdom() == "");
  }
  unsetenv("TILEWRIGHT_WISDOM");
  setenv("TILEWRIGHT_CACHE", cache.empty() ? "off" : cache.c_str(), 1);
}

TEST_CASE("cpu model: the caches of a launch are what its threads can expect of the last level") {
  CHECK(rt::CacheSizes{1280, 49152}.kib_for(1) == 5120);
  CHECK(rt::CacheSizes{1280, 49152}.kib_for(2) == 10240);
  CHECK(rt::CacheSizes{1280, 49152}.kib_for(1000000) == 49152);
  CHECK(rt::CacheSizes{0, 32768}.kib_for(2) == 32768);
  CHECK(rt::CacheSizes{0, 0}.kib_for(2) == 0);
}

TEST_CASE("log: a sink receives notices until it is removed") {
  std::vector<std::string> seen;
  set_log_sink(
      [&](LogLevel level, std::string_view text) { seen.push_back((level == LogLevel::warning ? "W " : "I ") + std::string(text)); });
  rt::log(LogLevel::warning, "one");
  rt::log(LogLevel::info, "two");
  set_log_sink({});
  rt::log(LogLevel::info, "three");
  CHECK(seen == std::vector<std::string>{"W one", "I two"});
}
