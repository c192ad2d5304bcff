// Kernels from the disk cache behave as compiled ones: results, prints, assertions, reports of bad accesses.
#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/scoped_cache.h"
#include "tilewright/tilewright.h"

namespace tw = tilewright;

namespace {

using tests::ScopedCache;

void softmax(tw::Ptr<const float> in, tw::Ptr<float> out, tw::I32 columns) {
  const auto lanes = tw::arange(0, 1024);
  const auto mask = lanes < columns;
  const auto x = tw::load(in + lanes, mask, -tw::inf);
  const auto e = tw::exp(x - tw::max(x, 0));
  tw::store(out + lanes, e / tw::sum(e, 0), mask);
}

void talks(tw::Ptr<std::int32_t> p, tw::I32 n) {
  const auto lanes = tw::arange(0, 16);
  const auto x = tw::load(p + lanes, lanes < n, 0);
  tw::device_print("n = {}", n);
  tw::device_assert(x >= 0, "values are positive");
  tw::store(p + lanes, x, lanes < n);
}

/// All that a launch shows: what it throws and prints.
std::string shown(const tw::Device& device, const std::function<void()>& launch) {
  std::string text;
  tw::on_device_print([&](std::string_view line) { text += std::string(line) + '\n'; });
  try {
    launch();
    device.synchronize();
  } catch (const tw::Error& e) {
    text += e.what();
  }
  tw::on_device_print({});
  return text;
}

TEST_CASE("disk_cache: a hit gives the same bits, prints and errors as the compilation") {
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    const ScopedCache scope;
    const tw::Device device = tw::Device::open(name);
    std::vector<float> values(1000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.01f * static_cast<float>(i * 37 % 1000);
    const auto x = device.upload(values);
    std::vector<std::vector<float>> results;
    std::vector<std::string> texts;
    for (int i = 0; i < 2; ++i) {
      const tw::Kernel compute("softmax", softmax);  // a new kernel with its own specializations
      auto y = device.upload(std::vector<float>(1000, -1.0f));
      compute({.grid = 1}, x, y, 1000);
      results.push_back(y.download());
      const tw::Kernel talk("talks", talks);
      auto p = device.upload(std::vector<std::int32_t>{1, 2, -3, 4});
      texts.push_back(shown(device, [&] { talk({.grid = 1, .check = true}, p, 4); }));
      texts.back() += shown(device, [&] { talk({.grid = 1, .check = true}, p, 9); });  // not divisible by 4: another kernel
      const tw::CacheStatistics s = tw::cache_statistics();
      CHECK(s.hits == (i == 0 ? 0 : 3));
      CHECK(s.misses == 3);
      CHECK(s.stores == 3);
      CHECK(s.entries == 3);
    }
    CHECK(std::memcmp(results[0].data(), results[1].data(), 4000) == 0);
    CHECK(texts[0] == texts[1]);
    CHECK_MESSAGE(texts[0].find("hits_test.cpp:") != std::string::npos, texts[0]);
    CHECK_MESSAGE(texts[0].find("n = 4") != std::string::npos, texts[0]);
    CHECK_MESSAGE(texts[0].find("values are positive") != std::string::npos, texts[0]);
  }
}

TEST_CASE("disk_cache: a damaged entry is compiled again, with the right result") {
  const ScopedCache scope;
  const tw::Device device = tw::Device::open("cpu");
  for (int i = 0; i < 2; ++i) {
    const tw::Kernel kernel("store", [](tw::Ptr<std::int32_t> p) { tw::store(p, 42); });
    auto p = device.upload(std::vector<std::int32_t>{0});
    kernel({.grid = 1}, p);
    CHECK(p.download() == std::vector<std::int32_t>{42});
    REQUIRE(scope.entries().size() == 1);
    CHECK(tw::cache_statistics().rejected == static_cast<std::uint64_t>(i));
    std::string bytes = tests::read_file(scope.entries()[0]);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    tests::write_file(scope.entries()[0], bytes);
  }
}

TEST_CASE("disk_cache: plans use it, and dumps do not") {
  const ScopedCache scope;
  const tw::Device device = tw::Device::open("cpu");
  const auto compile_plan = [&] {
    tw::Graph graph;
    const tw::Dim n = graph.dim("n");
    auto x = graph.input<float>("x", {n, 64});
    graph.output("y", tw::softmax(x, -1));
    graph.compile(device);
  };
  compile_plan();
  const std::uint64_t misses = tw::cache_statistics().misses;
  CHECK(misses > 0);
  compile_plan();
  CHECK(tw::cache_statistics().hits >= misses);
  CHECK(tw::cache_statistics().misses == misses);

  const std::uint64_t hits = tw::cache_statistics().hits;
  setenv("TILEWRIGHT_DUMP", (scope.folder() / "dump").c_str(), 1);
  compile_plan();
  unsetenv("TILEWRIGHT_DUMP");
  CHECK(tw::cache_statistics().hits == hits);
  CHECK(tw::cache_statistics().misses == misses);
}

TEST_CASE("disk_cache: off, it makes no folder") {
  const ScopedCache scope;
  setenv("TILEWRIGHT_CACHE", "off", 1);
  const tw::Device device = tw::Device::open("cpu");
  auto p = device.upload(std::vector<std::int32_t>{0});
  tw::Kernel("store", [](tw::Ptr<std::int32_t> q) { tw::store(q, 43); })({.grid = 1}, p);
  CHECK(p.download() == std::vector<std::int32_t>{43});
  CHECK(!std::filesystem::exists(scope.folder()));
}

}  // namespace
