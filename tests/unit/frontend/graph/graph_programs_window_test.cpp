// Windows: element types, sizes, steps and dilations, extents of 0, 1 and a symbol, and what windows are fused with.
#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

constexpr double kInfinity = HUGE_VAL;

struct Window {
  std::int64_t size, step = 1, dilation = 1;
  std::int64_t positions(std::int64_t extent) const { return (extent - dilation * (size - 1) - 1) / step + 1; }
};

/// The windows along the last axis, of n elements.
Numbers windows_of_rows(const Numbers& x, std::int64_t n, const Window& w) {
  Numbers result;
  for (std::size_t row = 0; n > 0 && row < x.size(); row += static_cast<std::size_t>(n))
    for (std::int64_t i = 0; i < w.positions(n); ++i)
      for (std::int64_t j = 0; j < w.size; ++j) result.push_back(x[row + static_cast<std::size_t>(i * w.step + j * w.dilation)]);
  return result;
}

template <class F>
Numbers of_each(const Numbers& windows, std::int64_t size, double start, F&& combine) {
  Numbers result;
  for (std::size_t at = 0; at < windows.size(); ++at) {
    if (at % static_cast<std::size_t>(size) == 0) result.push_back(start);
    result.back() = combine(result.back(), windows[at]);
  }
  return result;
}

const Window kWindows[] = {{3}, {37}, {2, 2}, {3, 5}, {4, 1, 3}, {2, 7, 30}, {1, 4, 9}};

template <class T>
void add_windows(Program& p, const std::string& type, const std::vector<T>& data, int rows, int n) {
  const auto x = p.input(type, {rows, n}, data);
  for (std::size_t i = 0; i < std::size(kWindows); ++i) {
    const Window& w = kWindows[i];
    p.output(type + " " + std::to_string(i), tw::window(x, -1, w.size, w.step, w.dilation), windows_of_rows(numbers_of(data), n, w), 0);
  }
}

TEST_CASE("graph programs: windows of each element type, of several sizes, steps and dilations") {
  constexpr int kRows = 3, kColumns = 37;
  const auto h = normal(kRows * kColumns, 1, 20);
  Program p;
  add_windows(p, "f32", h, kRows, kColumns);
  add_windows(p, "f16", rounded_to<tw::f16>(h), kRows, kColumns);
  add_windows(p, "f64", std::vector<double>(h.begin(), h.end()), kRows, kColumns);
  add_windows(p, "i8", rounded_to<std::int8_t>(h), kRows, kColumns);
  p.check();
}

template <class T>
void add_reductions(Program& p, const std::string& type, const std::vector<T>& data, int rows, int n, double tolerance) {
  const auto x = p.input(type, {rows, n}, data);
  for (std::size_t i = 0; i < std::size(kWindows); ++i) {
    const Window& w = kWindows[i];
    const Numbers all = windows_of_rows(numbers_of(data), n, w);
    const auto windows = tw::window(x, 1, w.size, w.step, w.dilation);
    const std::string name = type + " " + std::to_string(i);
    p.output(name + " sum", tw::sum(windows, -1), of_each(all, w.size, 0, [](double a, double b) { return a + b; }), tolerance);
    p.output(name + " max", tw::max(windows, -1),
             of_each(all, w.size, -kInfinity, [](double a, double b) { return std::isnan(a) || b < a ? a : b; }), 0);
  }
}

TEST_CASE("graph programs: sums and maxima of windows, with infinities and NaN among the elements") {
  constexpr int kRows = 3, kColumns = 37;
  auto h = normal(kRows * kColumns, 2);
  Program p;
  add_reductions(p, "f64", std::vector<double>(h.begin(), h.end()), kRows, kColumns, 1e-12);
  add_reductions(p, "f16", rounded_to<tw::f16>(h), kRows, kColumns, 1e-3);
  h[40] = INFINITY, h[50] = -INFINITY, h[80] = NAN;
  add_reductions(p, "f32", h, kRows, kColumns, 1e-5);
  p.check();
}

TEST_CASE("graph programs: windows of one element, of the first axis, of no rows, and of a broadcast") {
  const auto h = normal(5 * 4, 1);
  Program p;
  const auto x = p.input("x", {5, 4}, h);
  p.output("one", tw::window(tw::slice(x, 1, 2, 3), 1, 1), {h[2], h[6], h[10], h[14], h[18]});
  Numbers first;
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 4; ++k)
      for (int j = 0; j < 2; ++j) first.push_back(h[(2 * i + 2 * j) * 4 + k]);
  p.output("first", tw::window(x, 0, 2, 2, 2), first);
  p.output("no rows", tw::window(tw::slice(x, 0, 1, 1), 1, 2), {});
  p.output("sum of no rows", tw::sum(tw::window(tw::slice(x, 0, 1, 1), 1, 2), 0), Numbers(6, 0.0));
  p.output("equal", tw::window(tw::broadcast_to(tw::slice(x, 1, 0, 1), {5, 4}), 1, 3, 1), [&] {
    Numbers equal;
    for (int i = 0; i < 5; ++i) equal.insert(equal.end(), 6, h[i * 4]);
    return equal;
  }());
  p.check();
}

TEST_CASE("graph programs: windows inside of formulas are indices: products, softmax, masks, views and other windows") {
  constexpr int kRows = 6, kColumns = 24, kSize = 3, kCount = kColumns - kSize + 1;
  const auto hx = normal(kRows * kColumns, 1), hw = normal(kSize * 8, 2);
  const auto x_at = [&](int r, int c) { return double(hx[r * kColumns + c]); };
  Numbers products, soft, centred, local, twice, computed;
  for (int r = 0; r < kRows; ++r)
    for (int i = 0; i < kCount; ++i) {
      double total = 0, mean = 0, dots = 0, sum_of_exp = 0;
      for (int j = 0; j < kSize; ++j) {
        total += std::exp(x_at(r, i + j)), mean += x_at(r, i + j) / kSize;
        sum_of_exp += std::exp(x_at(r, i + j));
      }
      for (int k = 0; k < 8; ++k) {
        double sum = 0;
        for (int j = 0; j < kSize; ++j) sum += x_at(r, i + j) * double(hw[j * 8 + k]);
        products.push_back(sum);
      }
      for (int j = 0; j < kSize; ++j) {
        soft.push_back(std::exp(x_at(r, i + j)) / total);
        dots += (x_at(r, i + j) - mean) * (x_at(r, i + j) - mean);
      }
      centred.push_back(dots / kSize);
      computed.push_back(sum_of_exp);
      // Attention of each position over its window.
      double weights = 0, values = 0;
      for (int j = 0; j < kSize; ++j) {
        const double weight = std::exp(x_at(r, i + 1) * x_at(r, i + j));
        weights += weight, values += weight * x_at(r, i + j);
      }
      local.push_back(values / weights);
    }
  for (int r = 0; r < kRows; ++r)
    for (int i = 0; i < kCount - 2; ++i) {
      double sum = 0;
      for (int j = 0; j < kSize; ++j)
        for (int k = 0; k < kSize; ++k) sum += x_at(r, i + j + k);
      twice.push_back(sum);
    }
  Program p;
  const auto x = p.input("x", {kRows, kColumns}, hx), w = p.input("w", {kSize, 8}, hw);
  const auto windows = tw::window(x, 1, kSize);
  p.output("products", tw::matmul(windows, w), products, 2e-3);
  p.output("soft", tw::softmax(windows, -1), soft);
  const auto mean = tw::mean(windows, -1, true);
  p.output("variance", tw::mean((windows - mean) * (windows - mean), -1), centred);
  p.output("local", tw::sum(tw::softmax(tw::expand_dims(tw::slice(x, 1, 1, kColumns - 1), -1) * windows, -1) * windows, -1), local);
  p.output("twice", tw::sum(tw::window(tw::sum(windows, -1), 1, kSize), -1), twice);
  p.output("of windows", tw::sum(tw::window(windows, 1, kSize), {2, 3}), twice);
  p.output("computed", tw::sum(tw::window(tw::exp(x), 1, kSize), -1), computed);
  p.output("flat", tw::reshape(tw::window(tw::reshape(x, {kRows * kColumns}), 0, kColumns, kColumns), {kRows, kColumns}), numbers_of(hx));
  p.output("joined", tw::sum(tw::window(tw::concat({tw::slice(x, 1, 0, 10), tw::slice(x, 1, 10, kColumns)}, 1), 1, kSize), -1), [&] {
    Numbers sums;
    for (int r = 0; r < kRows; ++r)
      for (int i = 0; i < kCount; ++i) sums.push_back(x_at(r, i) + x_at(r, i + 1) + x_at(r, i + 2));
    return sums;
  }());
  p.check();
}

TEST_CASE("graph programs: one plan has windows of axes of every size, by numbers and by symbols") {
  tw::Graph graph;
  const tw::Dim n = graph.dim("n", {.min = 5}), k = graph.dim("k", {.min = 1, .max = 5});
  const auto x = graph.input<float>("x", {2, n});
  graph.output("three", tw::sum(tw::window(x, 1, 3), -1));
  graph.output("spread", tw::max(tw::window(x, 1, 3, 1, 2), -1));
  graph.output("of k", tw::sum(tw::window(x, 1, k), -1));
  graph.output("windows", tw::window(x, 1, n - 3));
  for (const std::string& name : devices())
    for (const bool fuse : {true, false}) {
      CAPTURE(name);
      CAPTURE(fuse);
      tw::Device device = tw::Device::open(name);
      const tw::Plan plan = graph.compile(device, {.fuse = fuse});
      CHECK(plan.proof().exact);
      for (const int extent : {5, 6, 7, 64, 131})
        for (const int size : {1, 3, 5}) {
          CAPTURE(extent);
          CAPTURE(size);
          const auto h = normal(static_cast<std::size_t>(2 * extent), 3);
          const Window of[] = {{3}, {3, 1, 2}, {size}, {extent - 3}};
          auto in = device.upload(h);
          std::vector<tw::Buffer<float>> out;
          for (const Window& w : of)
            out.push_back(
                device.upload(std::vector<float>(static_cast<std::size_t>(2 * w.positions(extent) * (&w == &of[3] ? w.size : 1)), NAN)));
          plan.run({{"x", in}, {"three", out[0]}, {"spread", out[1]}, {"of k", out[2]}, {"windows", out[3]}, {"n", extent}, {"k", size}});
          const auto wanted = [&](std::size_t i) { return windows_of_rows(numbers_of(h), extent, of[i]); };
          const auto sum = [](double a, double b) { return a + b; };
          CHECK(relative_error(numbers_of(out[0].download()), of_each(wanted(0), 3, 0, sum)) <= 1e-5);
          CHECK(numbers_of(out[1].download()) == of_each(wanted(1), 3, -kInfinity, [](double a, double b) { return std::max(a, b); }));
          CHECK(relative_error(numbers_of(out[2].download()), of_each(wanted(2), size, 0, sum)) <= 1e-5);
          CHECK(numbers_of(out[3].download()) == wanted(3));
        }
    }
}

TEST_CASE("graph programs: a run is refused whose windows are longer than their axis or do not come out even") {
  tw::Graph graph;
  const tw::Dim n = graph.dim("n");
  const auto x = graph.input<float>("x", {n});
  graph.output("y", tw::sum(tw::window(x, 0, 3, 2), -1));
  tw::Device device = tw::Device::open("cpu");
  const tw::Plan plan = graph.compile(device);
  for (const int extent : {3, 5, 9, 2, 0, 4, 10}) {
    CAPTURE(extent);
    const int positions = extent < 3 ? 0 : (extent - 3) / 2 + 1;
    auto in = device.upload(std::vector<float>(static_cast<std::size_t>(extent), 1));
    auto out = device.upload(std::vector<float>(static_cast<std::size_t>(positions), NAN));
    const bool is_right = extent >= 3 && extent % 2 == 1;
    if (is_right) {
      plan.run({{"x", in}, {"y", out}});
      CHECK(numbers_of(out.download()) == Numbers(static_cast<std::size_t>(positions), 3));
    } else {
      CHECK_THROWS_AS(plan.run({{"x", in}, {"y", out}}), tw::Error);
    }
  }
}

}  // namespace
}  // namespace graph_program
