// The kernel library with Options::tune: what it measures, what it remembers, and that results are those of one launch.
#include <tilewright/kernels.h>

#include <numeric>

#include "runtime/devices.h"
#include "runtime/wisdom/wisdom.h"
#include "tests/tuner/tuning.h"

namespace {

namespace kernels = tw::kernels;
using tuner_tests::contents;
using tuner_tests::has;
using tuner_tests::message_of;
using tuner_tests::Notices;
using tuner_tests::OwnWisdom;
using tuner_tests::Tried;

struct Product {
  tw::Device device;
  std::int64_t m = 48, n = 40, k = 56;
  tw::Buffer<float> a, b, c;
  explicit Product(const std::string& name) : device(tw::Device::open(name)) {
    std::vector<float> x(static_cast<std::size_t>(m * k)), y(static_cast<std::size_t>(k * n));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i % 5) - 2;
    a = device.upload(x), b = device.upload(y), c = device.allocate<float>(m * n);
  }
  void launch(const kernels::Options& o) { kernels::matmul(tw::view(a, {m, k}), tw::view(b, {k, n}), tw::view(c, {m, n}), o); }
  void check() {
    const std::vector<float> x = a.download(), y = b.download(), z = c.download();
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (std::int64_t p = 0; p < k; ++p) sum += x[static_cast<std::size_t>(i * k + p)] * y[static_cast<std::size_t>(p * n + j)];
        REQUIRE(z[static_cast<std::size_t>(i * n + j)] == sum);
      }
  }
};

TEST_CASE("library: tune measures at most 30 configurations once, and writes what launches read") {
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    CAPTURE(name);
    const OwnWisdom own;
    Product p(name);
    Tried tried;
    p.launch({});
    CHECK(tried.steps.empty());
    CHECK(contents(own.path).empty());
    p.launch({.tune = true});
    p.check();
    REQUIRE(tried.results.size() == 1);
    CHECK(tried.steps.size() > 1);
    CHECK(tried.steps.size() <= 30);
    CHECK(tried.results[0].kernel == "kernels::matmul");
    CHECK(has(contents(own.path), "kernels::matmul"));
    CHECK(has(contents(own.path), tried.results[0].configuration));
    for (const tw::TuningProgress& step : tried.steps) CHECK(step.predicted_microseconds.value_or(0) > 0);
    CHECK(tried.steps[0].predicted_microseconds <= tried.steps.back().predicted_microseconds);
    CHECK(tried.results[0].predicted_microseconds.value_or(0) > 0);
    p.launch({.tune = true});
    p.launch({});
    CHECK(tried.results.size() == 1);
    p.check();
  }
}

TEST_CASE("library: what the wisdom file says is launched") {
  const OwnWisdom own;
  Product p("emulator:sm_80");
  Tried tried;
  p.launch({.tune = true});
  REQUIRE(tried.results.size() == 1);
  // The entry now names another configuration than the fastest: a launch must take it, as the number of its programs shows.
  tw::rt::Wisdom& wisdom = tw::rt::Wisdom::instance();
  std::vector<tw::rt::WisdomEntry> entries = wisdom.entries();
  REQUIRE(entries.size() == 1);
  const auto programs_of = [&] {
    p.device.take_reports();
    p.launch({});
    std::uint64_t programs = 0;
    for (const tw::KernelReport& r : p.device.take_reports()) programs += r.programs;
    return programs;
  };
  std::set<std::uint64_t> seen;
  for (const tw::TuningProgress& step : tried.steps) {
    entries[0].configuration = step.configuration;
    wisdom.merge(entries);
    seen.insert(programs_of());
    p.check();
  }
  CHECK(seen.size() > 1);
}

TEST_CASE("library: a configuration of the caller and batch_invariant come before what was measured") {
  const OwnWisdom own;
  Product p("cpu");
  Tried tried;
  p.launch({.configuration = kernels::Configuration{.bm = 16, .bn = 16, .bk = 16}, .tune = true});
  p.launch({.batch_invariant = true, .tune = true});
  CHECK(tried.steps.empty());
  p.check();
}

TEST_CASE("library: a missing, damaged or older wisdom file is ignored with a word in the log") {
  OwnWisdom own;
  Product p("cpu");
  p.launch({.tune = true});
  const std::string good = contents(own.path);
  REQUIRE(has(good, "kernels::matmul"));
  const auto launch_with = [&](const char* name, const std::string& text) {
    own.use(name);
    if (!text.empty()) tuner_tests::write(own.path, text);
    Notices notices;
    p.launch({});
    p.check();
    return notices.text;
  };
  std::string damaged = good;
  damaged[damaged.find("kernels::matmul")] = 'K';
  CHECK(has(launch_with("damaged", damaged), "damaged"));
  CHECK(has(launch_with("none", "no wisdom\n"), "wisdom"));
  CHECK(has(launch_with("later", "tilewright-wisdom 99\n"), "a later version of Tilewright wrote it"));
  CHECK(launch_with("good", good) == "");
}

TEST_CASE("library: arrays that a kernel updates in place are changed once") {
  const OwnWisdom own;
  tw::Device device = tw::Device::open("cpu");
  Tried tried;
  std::vector<int> ones(5000, 1);
  tw::Buffer<int> x = device.upload(ones);
  kernels::scan(x, x, [](auto a, auto b) { return a + b; }, 0, {.tune = true});
  std::vector<int> want(ones.size());
  std::iota(want.begin(), want.end(), 1);
  CHECK(x.download() == want);
  REQUIRE(tried.results.size() == 1);
  CHECK(tried.steps.size() > 1);

  std::vector<int> keys(3000), sorted;
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int>(i * 7919 % 3001);
  sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  tw::Buffer<int> k = device.upload(keys), v = device.upload(keys);
  kernels::sort(k, v, false, {.tune = true});
  CHECK(k.download() == sorted);
  CHECK(v.download() == sorted);
  CHECK(tried.results.size() == 2);

  std::vector<float> rows(256 * 32, 1.0f);
  tw::Buffer<float> r = device.upload(rows), once = device.upload(rows);
  tw::Buffer<int> positions = device.upload(std::vector<int>(256, 3));
  kernels::rotary(tw::view(r, {256, 32}), tw::view(positions, {256}), 10000, {.tune = true});
  kernels::rotary(tw::view(once, {256, 32}), tw::view(positions, {256}));
  CHECK(r.download() == once.download());
  CHECK(tried.results.size() == 3);
}

TEST_CASE("library: functions of several kernels are tuned as a whole") {
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    CAPTURE(name);
    const OwnWisdom own;
    tw::Device device = tw::Device::open(name);
    Tried tried;
    const int n = 700;
    std::vector<int> keys(n), values(n, 1);
    for (int i = 0; i < n; ++i) keys[static_cast<std::size_t>(i)] = i * 31 % 7;
    tw::Buffer<int> k = device.upload(keys), v = device.upload(values);
    const auto add = [](auto a, auto b) { return a + b; };
    const auto groups = kernels::group_by(k, v, add, {.tune = true});
    CHECK(groups.keys.download() == std::vector<int>{0, 1, 2, 3, 4, 5, 6});
    CHECK(groups.values.download() == std::vector<int>(7, 100));
    CHECK(tried.results.size() == 1);
    CHECK(tried.steps.size() > 1);

    tw::Buffer<int> sums = device.upload(std::vector<int>(7, 5)), rows = device.upload(std::vector<int>(7 * 3, 5));
    kernels::scatter_add(v, k, sums, {.tune = true});
    CHECK(sums.download() == std::vector<int>(7, 105));
    const bool on_host = device.name() == "cpu";
    const std::size_t searches = on_host ? 0 : 1;  // on hosts, elements are added in one way
    CHECK(tried.results.size() == 1 + searches);
    tw::Buffer<int> slices = device.upload(std::vector<int>(n * 3, 1));
    kernels::scatter_add(tw::view(slices, {n, 3}), k, tw::view(rows, {7, 3}), {.tune = true});
    CHECK(rows.download() == std::vector<int>(7 * 3, 105));
    CHECK(tried.results.size() == 1 + 2 * searches);
    kernels::group_by(k, v, add, {.tune = true});
    CHECK(tried.results.size() == 1 + 2 * searches);

    const int width = 1000, count = on_host ? 400 : 40;
    tw::Buffer<float> x = device.upload(std::vector<float>(count * width, 1.0f)), dx = device.allocate<float>(count * width),
                      dbeta = device.allocate<float>(width), gamma = device.upload(std::vector<float>(width, 1.0f)),
                      numbers = device.upload(std::vector<float>(count, 0.5f));
    const auto matrix = [&](tw::Buffer<float>& b) { return tw::view(b, {count, width}); };
    kernels::layer_norm_backward(matrix(x), gamma, numbers, numbers, matrix(x), matrix(dx), tw::View<float, 1>(), dbeta, {.tune = true});
    // For the rows, and for the sums over them; on hosts there is one sweep.
    CHECK(tried.results.size() == (on_host ? 2 : 5));
    CHECK(dbeta.download() == std::vector<float>(width, static_cast<float>(count)));
  }
}

TEST_CASE("library: the estimate of an emulated GPU counts every kernel of a name") {
  tw::Device device = tw::Device::open("emulator:sm_80");
  tw::Buffer<float> x = device.upload(std::vector<float>(2 * 4096, 1.0f)), y = device.allocate<float>(2 * 4096);
  const auto estimate = [&](int passes) {
    return tw::rt::estimated_microseconds(device.name(),
                                          [&] {
                                            for (int size : {256, 512})
                                              if (passes & size) {
                                                const tw::Kernel kernel("same_name",
                                                                        [](tw::Ptr<const float> in, tw::Ptr<float> out, int block) {
                                                                          const auto i = tw::program_id(0) * block + tw::arange(0, block);
                                                                          tw::store(out + i, tw::load(in + i) * 2.0f);
                                                                        });
                                                kernel({.grid = 2 * 4096 / size}, x, y, size);
                                              }
                                          })
        .value();
  };
  const double first = estimate(256), second = estimate(512);
  CHECK(first > 0);
  CHECK(second > 0);
  CHECK(estimate(256 | 512) == doctest::Approx(first + second).epsilon(1e-9));
}

TEST_CASE("library: shapes are rounded where batches differ, types and functions are told apart") {
  const OwnWisdom own;
  tw::Device device = tw::Device::open("cpu");
  Tried tried;
  const auto softmax = [&]<class T>(std::type_identity<T>, int rows, int n) {
    tw::Buffer<T> x = device.upload(std::vector<T>(static_cast<std::size_t>(rows * n), T(1.0f))), y = device.allocate<T>(rows * n);
    kernels::softmax(tw::view(x, {rows, n}), tw::view(y, {rows, n}), {.tune = true});
    CHECK(static_cast<float>(y.download()[0]) == doctest::Approx(1.0 / n).epsilon(1e-3));
    return tried.results.size();
  };
  CHECK(softmax(std::type_identity<float>(), 20, 300) == 1);
  CHECK(softmax(std::type_identity<float>(), 32, 300) == 1);
  CHECK(softmax(std::type_identity<float>(), 33, 300) == 2);
  CHECK(softmax(std::type_identity<float>(), 20, 301) == 3);
  CHECK(softmax(std::type_identity<tw::f16>(), 20, 300) == 4);

  tw::Buffer<float> x = device.upload(std::vector<float>(4096, 1.0f));
  CHECK(kernels::reduce(x, [](auto a, auto b) { return a + b; }, 0.0f, {.tune = true}) == 4096);
  CHECK(kernels::reduce(x, [](auto a, auto b) { return tw::maximum(a, b); }, -INFINITY, {.tune = true}) == 1);
  CHECK(tried.results.size() == 6);
}

TEST_CASE("library: nothing is measured after tw::seal()") {
  const OwnWisdom own;
  Product p("cpu");
  p.launch({});
  tw::rt::set_sealed(true);
  const std::string message = message_of([&] { p.launch({.tune = true}); });
  p.launch({});
  tw::rt::set_sealed(false);
  p.check();
  CHECK(has(message, "library_test.cpp"));
  CHECK(has(message, "tune of 'kernels::matmul'"));
  CHECK(has(message, "tw::seal()"));
}

}  // namespace
