// Zero, infinity and NaN in graphs, on each device: finite as written is finite, and not finite as written is not finite.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "tests/unit/frontend/graph/graph_program.h"
#include "tilewright/tilewright.h"

namespace tw = tilewright;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The result of a formula of two [4, 6] tensors and a mask. The rows of the mask are true nowhere, everywhere, at one place, at some
/// places.
std::vector<float> run(tw::Device& device, bool fuse,
                       const std::function<tw::Tensor<float>(tw::Tensor<float>, tw::Tensor<float>, tw::Tensor<bool>)>& formula) {
  constexpr int kRows = 4, kColumns = 6;
  std::vector<float> x, y;
  std::vector<bool> mask;
  for (int i = 0; i < kRows * kColumns; ++i) {
    x.push_back(i % 5 == 0 ? 0.0f : static_cast<float>(i % 7) - 3.0f);
    y.push_back(i % 4 == 1 ? 0.0f : 0.5f * static_cast<float>(i % 3) - 0.25f);
    const int row = i / kColumns, column = i % kColumns;
    mask.push_back(row == 1 || (row == 2 && column == 3) || (row == 3 && column % 2 == 0));
  }
  tw::Graph g;
  const auto result =
      formula(g.input<float>("x", {kRows, kColumns}), g.input<float>("y", {kRows, kColumns}), g.constant(mask, {kRows, kColumns}));
  g.output("out", result);
  std::size_t count = 1;
  for (const tw::Dim& d : result.shape()) count *= static_cast<std::size_t>(d.value());
  auto out = device.allocate<float>(count);
  g.compile(device, {.fuse = fuse}).run({{"x", device.upload(x)}, {"y", device.upload(y)}, {"out", out}});
  return out.download();
}

/// Fused and node by node, on hosts and on an emulated GPU.
void check(const std::function<tw::Tensor<float>(tw::Tensor<float>, tw::Tensor<float>, tw::Tensor<bool>)>& formula,
           const std::function<bool(std::size_t, float)>& is_right) {
  for (const char* name : {"cpu", "emulator:sm_80"})
    for (const bool fuse : {true, false}) {
      tw::Device device = tw::Device::open(name);
      const std::vector<float> got = run(device, fuse, formula);
      for (std::size_t i = 0; i < got.size(); ++i) {
        CAPTURE(name);
        CAPTURE(fuse);
        CAPTURE(i);
        CAPTURE(got[i]);
        CHECK(is_right(i, got[i]));
      }
    }
}

TEST_CASE("graph programs: what divides itself is 1, or NaN") {
  check([](auto x, auto, auto) { return x / x; },
        [](std::size_t i, float v) { return (i % 5 == 0 || i % 7 == 3) ? std::isnan(v) : v == 1; });
  check([](auto x, auto y, auto) { return (x - x) + 0.0f / (y + 8.0f); }, [](std::size_t, float v) { return v == 0; });
}

TEST_CASE("graph programs: a product less itself is 0, and so is its square") {
  const auto product = [](auto x, auto y) {
    const auto s = tw::matmul(x, tw::transpose(y), tw::Precision::ieee) * 0.1f;
    const auto a = tw::abs(s) + 0.1f, c = tw::abs(tw::sum(y, 1, true)) + 0.1f;
    return (s / a) * (c / a);
  };
  check([&](auto x, auto y, auto) { return product(x, y) - product(x, y); }, [](std::size_t, float v) { return v == 0; });
  check(
      [&](auto x, auto y, auto) {
        const auto q = product(x, y), none = q - q;
        return none * none + (q - q) * q;
      },
      [](std::size_t, float v) { return v == 0; });
}

TEST_CASE("graph programs: the sign of a zero is that of the formula as it is written") {
  const auto x_of = [](std::size_t i) { return i % 5 == 0 ? 0.0f : static_cast<float>(i % 7) - 3.0f; };
  const auto has_sign = [&](auto written) {
    return [=](std::size_t i, float v) { return v == (std::signbit(written(x_of(i))) ? -1 : 1); };
  };
  check([](auto x, auto, auto) { return tw::copysign(1.0f, 0.0f - x); }, has_sign([](float x) { return 0.0f - x; }));
  check([](auto x, auto, auto) { return tw::copysign(1.0f, -x); }, has_sign([](float x) { return -x; }));
  check([](auto x, auto, auto) { return tw::copysign(1.0f, -(x - x)); }, has_sign([](float) { return -0.0f; }));
  check([](auto x, auto, auto) { return tw::copysign(1.0f, x * -2.0f); }, has_sign([](float x) { return x * -2.0f; }));
  check([](auto x, auto, auto mask) { return tw::copysign(1.0f, tw::where(mask, -0.0f, tw::abs(x))); },
        [&](std::size_t i, float v) { return v == (i / 6 == 1 || i == 15 || (i >= 18 && i % 2 == 0) ? -1 : 1); });
  check([](auto x, auto, auto) { return tw::atan2(0.0f - x, tw::abs(x) - 4.0f); },
        [&](std::size_t i, float v) { return std::fabs(v - std::atan2(0.0f - x_of(i), std::fabs(x_of(i)) - 4.0f)) < 1e-5f; });
}

TEST_CASE("graph programs: an infinity has the sign of the zero by which a number is divided, also of one in memory") {
  const auto x_of = [](std::size_t i) { return i % 5 == 0 ? 0.0f : static_cast<float>(i % 7) - 3.0f; };
  check([](auto x, auto, auto) { return tw::exp(-1.0f / (1.0f - x * x)); },
        [&](std::size_t i, float v) {
          const float want = std::exp(-1.0f / (1.0f - x_of(i) * x_of(i)));
          return std::fabs(v - want) <= 1e-5f * want;
        });
  check([](auto x, auto, auto) { return 1.0f / (x - x); }, [](std::size_t, float v) { return v == kInfinity; });
  check([](auto x, auto, auto) { return 1.0f / tw::materialize(x - x); }, [](std::size_t, float v) { return v == kInfinity; });
}

TEST_CASE("graph programs: the sign of a zero keeps no other value from its kernel") {
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    tw::Device device = tw::Device::open(name);
    tw::Graph g;
    const auto x = g.input<float>("x", {64, 32});
    const auto weights = tw::softmax(tw::copysign(x, 0.0f - x) * 2.0f, 1);
    g.output("out", weights * x + tw::sum(weights * weights, 1, true));
    const tw::Plan plan = g.compile(device);
    CHECK(plan.proof().exact);
    CHECK(plan.kernels().size() == 1);
  }
}

TEST_CASE("graph programs: 0 times a product that is infinite is not finite") {
  const auto is_far = [](std::size_t i) { return i % 5 != 0 && std::fabs(static_cast<float>(i % 7) - 3.0f) > 1; };
  const auto is_right = [&](std::size_t i, float v) { return is_far(i) ? !std::isfinite(v) : v == 0; };
  check([](auto x, auto, auto) { return x * 3e38f * 0.0f; }, is_right);
  check([](auto x, auto, auto) { return 0.0f * (3e38f * x); }, is_right);
  check([](auto x, auto, auto) { return x * 3e38f - 3e38f * x; }, is_right);
  check([](auto x, auto, auto) { return (x * 1.4e19f) * (x * 1.4e19f) * 0.0f; }, is_right);
  check([](auto x, auto, auto) { return x * 0.0f * 3e38f; }, [](std::size_t, float v) { return v == 0; });
}

TEST_CASE("graph programs: a masked divisor below its own mask is never infinite") {
  check([](auto x, auto, auto mask) { return tw::where(mask, 1.0f / tw::where(mask, x + 8.0f, 0.0f), 0.0f); },
        [](std::size_t i, float v) { return i / 6 == 0 ? v == 0 : std::isfinite(v); });
}

TEST_CASE("graph programs: a row in which nothing counts has no mean, and a masked one of 0") {
  const auto mean = [](auto x, auto mask) {
    return tw::sum(tw::where(mask, x, 0.0f), 1, true) / tw::sum(mask.template to<float>(), 1, true);
  };
  check([&](auto x, auto, auto mask) { return mean(x, mask); }, [](std::size_t i, float v) { return std::isfinite(v) == (i != 0); });
  check([&](auto x, auto, auto mask) { return tw::where(mask, mean(x, mask), 0.0f); },
        [](std::size_t, float v) { return std::isfinite(v); });
}

TEST_CASE("graph programs: a query that sees no key has no value, and 0 below its own mask") {
  const auto softmax = [](auto x, auto mask) { return tw::softmax(tw::where(mask, x, -kInfinity), -1); };
  check([&](auto x, auto y, auto mask) { return tw::matmul(softmax(x, mask), tw::transpose(y)); },
        [](std::size_t i, float v) { return std::isfinite(v) == (i / 4 != 0); });
  check([&](auto x, auto y, auto mask) { return tw::matmul(tw::where(mask, softmax(x, mask), 0.0f), tw::transpose(y)); },
        [](std::size_t i, float v) { return i / 4 == 0 ? v == 0 : std::isfinite(v); });
}

// The sum of a row in which nothing counts is 0, and is stored by one kernel and divides in another.
TEST_CASE("graph programs: weights of a row in which nothing counts are NaN, also behind a tensor in memory") {
  for (const char* name : {"cpu", "emulator:sm_80"})
    for (const bool hides : {false, true}) {
      tw::Device device = tw::Device::open(name);
      tw::Graph g;
      const tw::Dim rows = g.dim("rows"), columns = g.dim("columns");
      auto x = g.input<float>("x", {rows, columns});
      auto mask = g.input<bool>("mask", {1, columns});
      const auto exponentials = [](const auto& t) { return tw::exp(t - tw::max(t, 1, true)); };
      auto counted = exponentials(tw::where(mask, exponentials(x), -kInfinity));
      g.output("out", tw::min(counted / tw::sum(counted, 1, true), 0));
      constexpr int kColumns = 8;
      std::vector<float> hx;
      for (int i = 0; i < 2 * kColumns; ++i) hx.push_back(static_cast<float>(i % 5));
      auto kept = device.allocate<bool>(kColumns);
      const bool all_kept[kColumns] = {true, true, true, true, true, true, true, true}, none_kept[kColumns] = {};
      kept.upload(std::span<const bool>(hides ? none_kept : all_kept));
      auto out = device.allocate<float>(kColumns);
      g.compile(device).run({{"x", device.upload(hx)}, {"mask", kept}, {"out", out}, {"rows", 2}, {"columns", kColumns}});
      for (const float v : out.download()) {
        CAPTURE(name);
        CHECK(std::isnan(v) == hides);
      }
    }
}

TEST_CASE("graph programs: roots and logarithms of negative numbers are NaN") {
  const auto x_at = [](std::size_t i) { return i % 5 == 0 ? 0.0f : static_cast<float>(i % 7) - 3.0f; };
  check([](auto x, auto, auto) { return tw::sqrt(x) * tw::sqrt(x); },
        [&](std::size_t i, float v) { return x_at(i) < 0 ? std::isnan(v) : std::fabs(v - x_at(i)) < 1e-5f; });
  check([](auto x, auto, auto) { return tw::exp(3.0f * tw::log(x)); },
        [&](std::size_t i, float v) { return x_at(i) < 0 ? std::isnan(v) : std::fabs(v - x_at(i) * x_at(i) * x_at(i)) < 1e-3f; });
}

// A factor that is 0 makes the product 0, and not negative: in a loop, where the count is stored, and where it is not.
template <class T>
void check_zero_times_negative() {
  const int rows = 4, columns = 6;
  std::vector<T> hx;
  std::vector<bool> mask;
  graph_program::Numbers roots, powers, sums;
  for (int i = 0; i < rows * columns; ++i) {
    const double x = i % 7 - 3, factor = i / columns == 0 ? 0 : 1.0 / columns;
    hx.push_back(T(x)), mask.push_back(i / columns != 0);
    roots.push_back(x * factor == 0 ? 0 : std::sqrt(x * factor)), powers.push_back(x * factor == 0 ? 0 : std::exp(std::log(x * factor)));
    sums.push_back(x * factor + (i % columns == 0 ? 0 : sums.back()));
  }
  for (const bool has_sums : {true, false}) {
    graph_program::Program p;
    const tw::Dim b = p.graph.dim("b"), n = p.graph.dim("n");
    p.set_number("b", rows), p.set_number("n", columns);
    auto x = p.input("x", {b, n}, hx);
    auto count = tw::sum(p.input("mask", {b, n}, mask).template to<T>(), 1, true);
    auto product = x * tw::where(count > 0, 1 / count, 0);
    p.output("roots", tw::sqrt(product), roots);
    p.output("powers", tw::exp(tw::log(product)), powers);
    if (has_sums) p.output("sums", tw::cumsum(product, 1), sums);
    p.check();
  }
}

TEST_CASE("graph programs: roots and logarithms of 0 times a negative number") {
  check_zero_times_negative<float>();
  check_zero_times_negative<double>();
}

TEST_CASE("graph programs: powers of infinities and zeros are those of C") {
  const std::vector<float> x{-kInfinity, kInfinity, -0.0f, 0.0f, -2, 4, std::numeric_limits<float>::quiet_NaN()};
  const int n = static_cast<int>(x.size());
  for (const char* name : {"cpu", "emulator:sm_80"})
    for (const float exponent : {0.5f, -0.5f, 0.25f, 1.5f, 2.0f})
      for (const bool fuse : {true, false}) {
        CAPTURE(name);
        CAPTURE(exponent);
        CAPTURE(fuse);
        tw::Device device = tw::Device::open(name);
        tw::Graph graph;
        graph.output("y", tw::pow(graph.input<float>("x", {n}), exponent));
        auto y = device.allocate<float>(n);
        graph.compile(device, {.fuse = fuse}).run({{"x", device.upload(x)}, {"y", y}});
        const std::vector<float> got = y.download();
        for (std::size_t i = 0; i < x.size(); ++i) {
          CAPTURE(x[i]);
          CAPTURE(got[i]);
          const float want = std::pow(x[i], exponent);
          if (std::isnan(want))
            CHECK(std::isnan(got[i]));
          else
            CHECK((got[i] == want || std::fabs(got[i] - want) <= 1e-6f * std::fabs(want)));
        }
      }
}

}  // namespace
