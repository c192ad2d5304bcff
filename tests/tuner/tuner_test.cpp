// tw::Tuner: which calls compile, what it measures, and that results are those of one launch.
#include <algorithm>
#include <array>
#include <thread>

#include "tests/tuner/tuning.h"

using namespace tuner_tests;

namespace {

struct Block {
  int size = 256, num_warps = 4;
};

/// Changes x in place, so measured launches must not be visible.
void add_one(tw::Ptr<float> x, tw::I32 n, Block block) {
  auto i = tw::program_id(0) * block.size + tw::arange(0, block.size);
  auto mask = i < n;
  tw::store(x + i, tw::load(x + i, mask) + 1.0f, mask);
}
void add_one_plain(tw::Ptr<float> x, tw::I32 n, int BLOCK) { add_one(x, n, Block{BLOCK}); }

struct Tiles {
  int bm, bn;
  int num_warps = 4, num_stages = 1;
};
void fill_tile(tw::View<float, 2> y, float value, Tiles t) {
  y.store({tw::program_id(0) * t.bm, tw::program_id(1) * t.bn}, tw::full<float>({t.bm, t.bn}, value));
}

constexpr int kCount = 5000;
const std::vector<Block> kBlocks = {{64, 1}, {256, 2}, {1024, 4}};
tw::Grid grid_of(const Block& b) { return tw::Grid((kCount + b.size - 1) / b.size); }

void check_all(const tw::Buffer<float>& x, float want) {
  const std::vector<float> values = x.download();
  CHECK(std::all_of(values.begin(), values.end(), [&](float v) { return v == want; }));
}

}  // namespace

TEST_CASE("tuner: a kernel in place gives the result of one launch, and is measured once a key") {
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    CAPTURE(name);
    OwnWisdom wisdom;
    tw::Device device = tw::Device::open(name);
    auto x = device.upload(std::vector<float>(kCount, 1.0f));
    tw::Kernel kernel("add_one", add_one);
    tw::Tuner tuner(kernel, {Block{64, 1}, Block{256, 2}, Block{1024, 4}}, {.key = {kCount, "f32"}, .tune = true});
    const auto launch_of = [](const Block& b) { return tw::Launch{.grid = grid_of(b)}; };
    Tried tried;
    tuner(launch_of, x, kCount);
    check_all(x, 2);
    CHECK(tried.steps.size() == 3);
    REQUIRE(tried.results.size() == 1);
    CHECK(tried.results[0].kernel == "add_one");
    CHECK(*tried.results[0].microseconds > 0);
    for (int i = 0; i < 3; ++i) tuner(launch_of, x, kCount);
    check_all(x, 5);
    CHECK(tried.steps.size() == 3);
    // Another tuner for the same key, which measures nothing by itself.
    tw::Tuner other(kernel, kBlocks, {.key = {kCount, "f32"}});
    other(launch_of, x, kCount);
    check_all(x, 6);
    CHECK(tried.results.size() == 1);
    // Another key is another search.
    tw::Tuner more(kernel, kBlocks, {.key = {kCount, "f16"}, .tune = true});
    more(launch_of, x, kCount);
    check_all(x, 7);
    CHECK(tried.results.size() == 2);
    CHECK(lines(contents(wisdom.path)) == 3);
  }
}

TEST_CASE("tuner: configurations, keys and launches in all their forms") {
  OwnWisdom wisdom;
  tw::Device device = tw::Device::open("cpu");
  auto x = device.upload(std::vector<float>(64 * 64, 0.0f));
  const tw::Kernel kernel("fill_tile", fill_tile);
  const int m = 64;
  const std::string type = "f32";
  // A list without types, a grid from a function and alone, a view, braces for the launch.
  tw::Tuner untyped(kernel, {{32, 32}, {.bm = 64, .bn = 16, .num_warps = 2}}, {.key = {m, 64u, 2.5, true, type, std::string_view("a")}});
  const auto grid = [](const Tiles& t) { return tw::Grid{64 / t.bm, 64 / t.bn}; };
  untyped(grid, tw::view(x, {64, 64}), 1.0f);
  check_all(x, 1);
  CHECK(untyped.configurations()[1].num_warps == 2);
  const std::vector<std::int64_t> shape = {64, 64};
  tw::Tuner of_array(kernel, std::array<Tiles, 1>{Tiles{64, 64}}, {.key = shape, .budget_ms = std::chrono::seconds(1), .tune = true});
  of_array({.grid = 1}, tw::view(x, {64, 64}), 2.0f);
  check_all(x, 2);
  of_array(1, tw::view(x, {64, 64}), 3.0f);
  check_all(x, 3);
  of_array(tw::Grid{1, 1}, tw::view(x, {64, 64}), 4.0f);
  check_all(x, 4);
  // A configuration that is a number.
  auto y = device.upload(std::vector<float>(kCount, 0.0f));
  const tw::Kernel plain("add_one_plain", add_one_plain);
  tw::Tuner numbers(plain, {64, 512}, {.key = kCount, .max_measured = std::size_t{2}, .tune = true});
  numbers([](int block) { return (kCount + block - 1) / block; }, y, kCount);
  check_all(y, 1);
  // A function that launches by itself.
  tw::Tuner own(kernel, {Tiles{32, 64}, Tiles{64, 64}}, {.tune = true});
  own([&](const Tiles& t) { kernel({.grid = {64 / t.bm, 64 / t.bn}}, tw::view(x, {64, 64}), 3.0f, t); }, device);
  check_all(x, 3);
  // Memory that the caller owns, and a pointer into a buffer.
  numbers([&](int block) { return tw::Launch{.grid = (kCount + block - 1) / block, .device = device}; }, y.data(), kCount);
  check_all(y, 2);
}

TEST_CASE("tuner: prune, the number measured and the budget bound a search") {
  OwnWisdom wisdom;
  tw::Device device = tw::Device::open("cpu");
  auto x = device.upload(std::vector<float>(kCount, 0.0f));
  const tw::Kernel kernel("add_one", add_one);
  const auto launch_of = [](const Block& b) { return tw::Launch{.grid = grid_of(b), .num_warps = b.num_warps}; };
  Tried tried;
  tw::Tuner pruned(kernel, kBlocks, {.key = {1}, .prune = [](const Block& b) { return b.size == 64; }, .tune = true});
  pruned(launch_of, x, kCount);
  CHECK(tried.steps.size() == 2);
  tw::Tuner by_list(
      kernel, kBlocks,
      {.key = {2}, .prune = [](std::vector<Block> all) { return std::vector<Block>(all.begin(), all.begin() + 2); }, .tune = true});
  by_list(launch_of, x, kCount);
  CHECK(tried.steps.size() == 4);
  tw::Tuner few(kernel, kBlocks, {.key = {3}, .max_measured = 2, .tune = true});
  few(launch_of, x, kCount);
  CHECK(tried.steps.size() == 6);
  tw::Tuner hasty(kernel, kBlocks, {.key = {4}, .budget_ms = 1e-6, .tune = true});
  hasty(launch_of, x, kCount);
  CHECK(tried.steps.size() == 7);
  check_all(x, 4);
}

TEST_CASE("tuner: keys of different values are different") {
  CHECK(tw::TuningKey{1e-9}.text() != tw::TuningKey{2e-9}.text());
  CHECK(tw::TuningKey{1.0f, 2}.text() != tw::TuningKey{1, 2.5f}.text());
  CHECK(tw::TuningKey{"a,b"}.text() != tw::TuningKey{"a", "b"}.text());
  CHECK(tw::TuningKey{"a\n"}.text().find('\n') == std::string::npos);
}

TEST_CASE("tuner: mistakes name the tuner's line") {
  const tw::Kernel kernel("add_one", add_one);
  const auto refused = [&](auto&& f, const char* piece) {
    const std::string text = message_of(f);
    CHECK_MESSAGE(has(text, piece), text);
    CHECK_MESSAGE(has(text, "tuner_test.cpp:"), text);
  };
  refused([&] { tw::Tuner t(kernel, std::vector<Block>()); }, "tuner of 'add_one': there is no configuration");
  refused([&] { tw::Tuner t(kernel, kBlocks, {.prune = [](const Block&) { return true; }}); }, "prune leaves none of 3 configurations");
  refused([&] { tw::Tuner t(kernel, kBlocks, {.budget_ms = -1}); }, "budget_ms is -1");
  refused([&] { tw::Tuner t(kernel, kBlocks, {.max_measured = 0}); }, "max_measured is 0");
  tw::Device device = tw::Device::open("cpu");
  auto x = device.upload(std::vector<float>(kCount, 0.0f));
  tw::Tuner tuner(kernel, kBlocks, {.tune = true});
  refused([&] { tuner([](const Block&) { return tw::Launch{.grid = 0}; }, x, kCount); }, "the grid has 0 programs along axis 0");
  const OwnWisdom wisdom;
  tw::Device gpu = tw::Device::open("emulator:sm_80");
  auto far = gpu.upload(std::vector<float>(kCount, 0.0f));
  for (const tw::Stream& stream : {device.stream(), tw::Device::open("emulator:sm_90a").stream()})
    refused([&] { tuner({.grid = 1, .stream = stream}, far, kCount); }, "the buffers are on device 'emulator:sm_80', but the stream is");
  check_all(x, 0);
}

TEST_CASE("tuner: configurations that need too much are left out, other errors are the user's") {
  OwnWisdom wisdom;
  tw::Device device = tw::Device::open("emulator:sm_80");
  // A product of 512 x 512 tiles needs more shared memory than a program has.
  const tw::Kernel product("product", [](tw::Ptr<const tw::f16> a, tw::Ptr<float> c, Tiles t) {
    auto i = tw::column(tw::arange(0, t.bm)) * 16 + tw::row(tw::arange(0, 16));
    auto j = tw::column(tw::arange(0, 16)) * t.bn + tw::row(tw::arange(0, t.bn));
    auto sum = tw::dot(tw::load(a + i), tw::load(a + j));
    tw::store(c + tw::column(tw::arange(0, t.bm)) * t.bn + tw::row(tw::arange(0, t.bn)), sum);
  });
  const auto a = device.upload(std::vector<tw::f16>(1 << 20, tw::f16(1.0f)));
  auto c = device.allocate<float>(1 << 20);
  Notices notices;
  Tried tried;
  tw::Tuner tuner(product, {Tiles{1024, 1024, 32}, Tiles{16, 16, 1}}, {.tune = true});
  const std::string failed = message_of([&] { tuner({.grid = 1}, a, c); });
  CHECK_MESSAGE(failed.empty(), failed);
  if (failed.empty()) CHECK(c.download()[0] == 16);
  CHECK(tried.steps.size() == 2);
  CHECK_FALSE(tried.steps[0].microseconds.has_value());
  CHECK(has(notices.text, "needs more resources"));
}

TEST_CASE("tuner: threads that launch the same key measure it once") {
  OwnWisdom wisdom;
  tw::Device device = tw::Device::open("cpu");
  const tw::Kernel kernel("add_one", add_one);
  const tw::Tuner tuner(kernel, kBlocks, {.key = {"threads"}, .tune = true});
  std::vector<tw::Buffer<float>> buffers;
  for (int i = 0; i < 6; ++i) buffers.push_back(device.upload(std::vector<float>(kCount, 0.0f)));
  Tried tried;
  std::vector<std::thread> threads;
  for (auto& x : buffers) threads.emplace_back([&] { tuner([](const Block& b) { return grid_of(b); }, x, kCount); });
  for (std::thread& t : threads) t.join();
  for (const auto& x : buffers) check_all(x, 1);
  CHECK(tried.results.size() == 1);
}
