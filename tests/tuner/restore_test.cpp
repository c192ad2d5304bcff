// Measured launches: what a launch changes and reads again is as one launch leaves it, whatever the launch reaches it through.
#include <tilewright/graph.h>
#include <tilewright/kernels.h>

#include <cmath>
#include <random>

#include "tests/tuner/tuning.h"

using namespace tuner_tests;

namespace {

namespace kernels = tw::kernels;

template <class T>
std::vector<T> random_values(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> next(-1, 1);
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(T(static_cast<float>(next(random))));
  return values;
}
template <class T>
double error_of(const std::vector<T>& got, const std::vector<double>& want) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double d = static_cast<double>(got[i]) - want[i];
    difference += d * d, norm += want[i] * want[i];
  }
  return std::sqrt(difference / norm);
}

/// c -= a b: the way in which optimizers and residuals use an epilogue.
template <class T>
struct Update {
  static constexpr std::int64_t kM = 40, kN = 24, kK = 32;
  tw::Device device;
  std::vector<T> x = random_values<T>(kM * kK, 1), y = random_values<T>(kK * kN, 2), z = random_values<T>(kM * kN, 3);
  tw::Buffer<T> a = device.upload(x), b = device.upload(y), c = device.upload(z);
  explicit Update(const std::string& name) : device(tw::Device::open(name)) {}

  /// launch(a, b, c, options) does it once.
  template <class F>
  void check(F launch) {
    const OwnWisdom own;
    Tried tried;
    c.upload(z);
    launch(tw::view(a, {kM, kK}), tw::view(b, {kK, kN}), tw::view(c, {kM, kN}), kernels::Options{.tune = true});
    CHECK(tried.steps.size() > 1);
    std::vector<double> want;
    for (std::int64_t i = 0; i < kM; ++i)
      for (std::int64_t j = 0; j < kN; ++j) {
        double sum = static_cast<double>(z[static_cast<std::size_t>(i * kN + j)]);
        for (std::int64_t k = 0; k < kK; ++k)
          sum -=
              static_cast<double>(x[static_cast<std::size_t>(i * kK + k)]) * static_cast<double>(y[static_cast<std::size_t>(k * kN + j)]);
        want.push_back(sum);
      }
    const double error = error_of(c.download(), want);
    CHECK(error < (sizeof(T) == 2 ? 2e-3 : 1e-3));
  }
};

template <class T>
void check_epilogues(const char* name) {
  CAPTURE(name);
  Update<T> u(name);
  const auto with_pointer = [](auto sum, auto i, auto j, auto p) {
    return sum.template to<T>() * T(-1.0f) + tw::load(p + (i * Update<T>::kN + j));
  };
  const auto with_view = [](auto sum, auto i, auto j, auto v) { return tw::load(v.pointer({i, j})) - sum.template to<T>(); };
  u.check([&](auto a, auto b, auto c, auto o) { kernels::matmul(a, b, c, with_pointer, u.c, o); });
  u.check([&](auto a, auto b, auto c, auto o) { kernels::matmul(a, b, c, with_pointer, std::as_const(u.c), o); });
  u.check([&](auto a, auto b, auto c, auto o) { kernels::matmul(a, b, c, with_pointer, u.c + 0, o); });
  u.check([&](auto a, auto b, auto c, auto o) { kernels::matmul(a, b, c, with_pointer, u.c.data(), o); });
  u.check([&](auto a, auto b, auto c, auto o) { kernels::matmul(a, b, c, with_pointer, std::as_const(u.c).data(), o); });
  u.check([&](auto a, auto b, auto c, auto o) { kernels::matmul(a, b, c, with_view, c, o); });
  u.check([&](auto a, auto b, auto c, auto o) { kernels::matmul(a, b, c, with_view, tw::View<const T, 2>(c), o); });
  const auto with_transposed = [](auto sum, auto i, auto j, auto v) { return tw::load(v.pointer({j, i})) - sum.template to<T>(); };
  u.check([&](auto a, auto b, auto c, auto o) { kernels::matmul(a, b, c, with_transposed, tw::transposed(c), o); });
  const auto wrapped = u.device.wrap(u.c.data(), u.c.size());
  u.check([&](auto a, auto b, auto c, auto o) { kernels::matmul(a, b, c, with_pointer, wrapped, o); });
  // A batch of one, and a result whose rows are apart.
  u.check([&](auto, auto, auto, auto o) {
    kernels::matmul(tw::view(u.a, {1, u.kM, u.kK}), tw::view(u.b, {1, u.kK, u.kN}), tw::view(u.c, {1, u.kM, u.kN}), with_pointer, u.c, o);
  });
}

}  // namespace

TEST_CASE("restore: a product whose epilogue reads its own result is applied once") {
  check_epilogues<float>("cpu");
  check_epilogues<double>("cpu");
  check_epilogues<tw::f16>("cpu");
  check_epilogues<float>("emulator:sm_80");
}

TEST_CASE("restore: what an epilogue writes besides the result is written once") {
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    CAPTURE(name);
    Update<float> u(name);
    auto counts = u.device.upload(std::vector<int>(u.kM, 7));
    const auto count = [](auto sum, auto i, auto j, auto counted, auto c) {
      // Rows and columns past the end are those of the last one.
      const auto one = tw::where(i >= 0 && j == 0, 1, tw::zeros<int>({sum.shape()[0], sum.shape()[1]}));
      tw::atomic_add(counted + tw::reshape(i, {sum.shape()[0]}), tw::max(one, 1));
      return tw::load(c + (i * Update<float>::kN + j)) - sum;
    };
    u.check([&](auto a, auto b, auto c, auto o) {
      counts.fill(7);
      kernels::matmul(a, b, c, count, counts, u.c, o);
    });
    const std::vector<int> got = counts.download();
    CHECK(std::all_of(got.begin(), got.end() - 1, [](int n) { return n == 8; }));
  }
}

TEST_CASE("restore: a raw pointer that leads into no buffer is refused with both lines if the epilogue writes there") {
  const OwnWisdom own;
  tw::Device device = tw::Device::open("cpu");
  std::vector<float> host(64 * 64, 1.0f), bias(64, 2.0f);
  tw::Buffer<float> a = device.upload(host), b = device.upload(host), c = device.upload(host);
  const auto matrix = [](tw::Buffer<float>& x) { return tw::view(x, {64, 64}); };
  const auto write = [](auto sum, auto i, auto j, auto p) {
    tw::store(p + (i * 64 + j), sum);  // the write
    return sum;
  };
  const int line = __LINE__ + 1;
  const std::string text = message_of([&] { kernels::matmul(matrix(a), matrix(b), matrix(c), write, host.data(), {.tune = true}); });
  CHECK_MESSAGE(has(text, "restore_test.cpp:" + std::to_string(line)), text);
  CHECK_MESSAGE(has(text, "restore_test.cpp:" + std::to_string(line - 4)), text);
  CHECK_MESSAGE(has(text, "raw pointer"), text);
  CHECK(c.download() == std::vector<float>(64 * 64, 1.0f));
  // Reading there, and launching without measurements, is as always.
  const auto read = [](auto sum, auto, auto j, auto p) { return sum + tw::load(p + j); };
  kernels::matmul(matrix(a), matrix(b), matrix(c), read, bias.data(), {.tune = true});
  CHECK(c.download() == std::vector<float>(64 * 64, 66.0f));
  kernels::matmul(matrix(a), matrix(b), matrix(c), write, host.data());
  CHECK(host == std::vector<float>(64 * 64, 64.0f));
}

namespace {

struct Block {
  int size, num_warps;
};
void add_one(tw::Ptr<float> x, tw::I32 n, Block block) {
  auto i = tw::program_id(0) * block.size + tw::arange(0, block.size);
  tw::store(x + i, tw::load(x + i, i < n) + 1.0f, i < n);
}
constexpr int kStoreLine = __LINE__ - 2;
/// to += from; both may be the same memory.
void add_to(tw::Ptr<const float> from, tw::View<float, 1> to, Block block) {
  auto i = tw::program_id(0) * block.size + tw::arange(0, block.size);
  auto mask = i < to.extent(0);
  tw::store(to.pointer({i}), tw::load(to.pointer({i}), mask) + tw::load(from + i, mask), mask);
}
constexpr int kCount = 1000;
const std::vector<Block> kBlocks = {{64, 1}, {256, 2}, {1024, 4}};
tw::Grid grid_of(const Block& b) { return (kCount + b.size - 1) / b.size; }
void check_all(const tw::Buffer<float>& x, float want) {
  const std::vector<float> values = x.download();
  CHECK(std::all_of(values.begin(), values.end(), [&](float v) { return v == want; }));
}

}  // namespace

TEST_CASE("restore: pointers, views and wrapped memory that a tuned kernel writes") {
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    CAPTURE(name);
    OwnWisdom wisdom;
    tw::Device device = tw::Device::open(name);
    auto x = device.upload(std::vector<float>(kCount, 1.0f));
    auto same = device.wrap(x.data(), kCount);
    const tw::Kernel kernel("add_to", add_to);
    int key = 0;
    float want = 1;
    const auto tuner = [&] { return tw::Tuner(kernel, kBlocks, {.key = key++, .tune = true}); };
    tuner()(grid_of, x, tw::view(x, {kCount}));
    check_all(x, want *= 2);
    tuner()(grid_of, x, tw::view(same, {kCount}));
    check_all(x, want *= 2);
    tuner()(grid_of, std::as_const(x).data(), tw::view(same, {kCount}));
    check_all(x, want *= 2);
  }
}

TEST_CASE("restore: what a function that launches by itself changes") {
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    CAPTURE(name);
    OwnWisdom wisdom;
    tw::Device device = tw::Device::open(name);
    auto x = device.upload(std::vector<float>(kCount, 1.0f)), sum = device.upload(std::vector<float>(kCount, 0.0f));
    const tw::Kernel kernel("add_one", add_one);
    const tw::Kernel adder("add_to", add_to);
    const tw::Stream stream = device.stream();
    Tried tried;
    tw::Tuner tuner(kernel, kBlocks, {.key = "own", .tune = true});
    tuner(
        [&](const Block& b) {
          kernel({.grid = grid_of(b)}, x, kCount, b);
          kernel({.grid = grid_of(b), .device = device}, x.data(), kCount, b);
          device.synchronize();
          // Memory of its own, and another stream.
          auto own = device.upload(std::vector<float>(kCount, 5.0f));
          kernel({.grid = grid_of(b), .stream = stream}, own, kCount, b);
          adder({.grid = grid_of(b), .stream = stream}, own, tw::view(sum, {kCount}), b);
          device.synchronize();
          x.upload(x.download());
        },
        device);
    CHECK(tried.steps.size() == 3);
    check_all(x, 3);
    check_all(sum, 6);
  }
}

TEST_CASE("restore: functions of the library, plans and measurements inside of a function that launches by itself") {
  OwnWisdom wisdom;
  tw::Device device = tw::Device::open("cpu");
  const tw::Kernel kernel("add_one", add_one);
  const tw::Kernel adder("add_to", add_to);
  auto keys = device.upload(std::vector<int>(kCount, 1));
  auto x = device.upload(std::vector<float>(kCount, 1.0f)), y = device.upload(std::vector<float>(kCount, 1.0f));
  tw::Graph graph;
  graph.output("y", graph.input<float>("x", {kCount}) * 2.0f);
  tw::Plan plan = graph.compile(device);
  tw::Tuner tuner(kernel, kBlocks, {.key = "library", .tune = true});
  Tried tried;
  tuner(
      [&](const Block& b) {
        kernels::scan(keys, keys, [](auto p, auto q) { return p + q; }, 0, {.tune = true});  // not measured inside of a measurement
        adder({.grid = grid_of(b)}, y, tw::view(x, {kCount}), b);                            // reads what the plan then writes
        plan.run({{"x", x}, {"y", y}});
      },
      device);
  CHECK(tried.results.size() == 2);  // the scan's own search is in the last call
  std::vector<int> want(kCount);
  for (int i = 0; i < kCount; ++i) want[static_cast<std::size_t>(i)] = i + 1;
  CHECK(keys.download() == want);
  check_all(x, 2);
  check_all(y, 4);
}

TEST_CASE("restore: raw memory and memory that is wrapped on the way are refused with both lines") {
  OwnWisdom wisdom;
  tw::Device device = tw::Device::open("cpu");
  std::vector<float> host(kCount, 1.0f);
  const tw::Kernel kernel("add_one", add_one);
  const tw::Tuner tuner(kernel, kBlocks, {.key = "raw", .tune = true});
  const auto refused = [&](auto&& f, int first, int second) {
    const std::string text = message_of(f);
    CHECK_MESSAGE(has(text, "put back"), text);
    CHECK_MESSAGE(has(text, "restore_test.cpp:" + std::to_string(first)), text);
    CHECK_MESSAGE(has(text, "restore_test.cpp:" + std::to_string(second)), text);
    CHECK(host == std::vector<float>(kCount, 1.0f));
  };
  const auto launch_of = [&](const Block& b) { return tw::Launch{.grid = grid_of(b), .device = device}; };
  refused([&] { tuner(launch_of, host.data(), kCount); }, __LINE__, kStoreLine);
  const auto by_itself = [&](const Block& b) { kernel(launch_of(b), host.data(), kCount, b); };
  refused([&] { tuner(by_itself, device); }, __LINE__ - 1, __LINE__);
  const auto wraps = [&](const Block& b) {
    auto x = device.wrap(host.data(), kCount);
    kernel(launch_of(b), x, kCount, b);
  };
  refused([&] { tuner(wraps, device); }, __LINE__ - 2, __LINE__);
  // With `restore` false, such a kernel is tuned, and its writes remain.
  tw::Tuner as_it_is(kernel, {Block{64, 1}, Block{1024, 4}}, {.key = "raw", .tune = true, .restore = false});
  as_it_is(launch_of, host.data(), kCount);
  CHECK(host[0] > 2);
}
