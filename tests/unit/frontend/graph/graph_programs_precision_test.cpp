// Products of floats in each precision, in graphs that are fused and that are not.
#include <algorithm>
#include <iterator>
#include <limits>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

constexpr int kRows = 37, kInner = 72, kColumns = 24;

Numbers product_of(const Numbers& a, const Numbers& b, int rows, int inner, int columns) {
  Numbers c(static_cast<std::size_t>(rows * columns));
  for (int i = 0; i < rows; ++i)
    for (int k = 0; k < inner; ++k)
      for (int j = 0; j < columns; ++j) c[i * columns + j] += a[i * inner + k] * b[k * columns + j];
  return c;
}

/// The most that a product of this precision may differ, and the least that one of tf32 differs.
double tolerance_of(tw::Precision p, const std::string& device) {
  if (device == "cpu" || p == tw::Precision::ieee || p == tw::Precision::tf32x3) return 1e-6;
  return p == tw::Precision::bf16x3 ? 3e-5 : 2e-3;
}

/// A product; a row scaled by its norm before one; and a softmax of scores times values.
void add_products(Program& p, tw::Precision precision, double tolerance) {
  const auto hx = normal(kRows * kInner, 1), hw = normal(kInner * kColumns, 2), hv = normal(kColumns * kInner, 3);
  const Numbers xw = product_of(numbers_of(hx), numbers_of(hw), kRows, kInner, kColumns);
  Numbers normed = xw, weights(xw.size());
  for (int i = 0; i < kRows; ++i) {
    double squares = 0, most = -HUGE_VAL, total = 0;
    for (int k = 0; k < kInner; ++k) squares += double(hx[i * kInner + k]) * double(hx[i * kInner + k]);
    for (int j = 0; j < kColumns; ++j) {
      normed[i * kColumns + j] /= std::sqrt(squares / kInner + 1e-3);
      most = std::max(most, 0.1 * xw[i * kColumns + j]);
    }
    for (int j = 0; j < kColumns; ++j) total += weights[i * kColumns + j] = std::exp(0.1 * xw[i * kColumns + j] - most);
    for (int j = 0; j < kColumns; ++j) weights[i * kColumns + j] /= total;
  }
  auto x = p.input("x", {kRows, kInner}, hx), w = p.input("w", {kInner, kColumns}, hw), v = p.input("v", {kColumns, kInner}, hv);
  auto scores = tw::matmul(x, w, precision);
  p.output("product", scores, xw, tolerance);
  auto scaled = x * tw::rsqrt(tw::mean(x * x, -1, true) + 1e-3f);
  p.output("normed", tw::matmul(scaled, w, precision), normed, tolerance);
  p.output("weighted", tw::matmul(tw::softmax(scores * 0.1f, -1), v, precision),
           product_of(weights, numbers_of(hv), kRows, kColumns, kInner), 2 * tolerance);
}

}  // namespace

TEST_CASE("graph programs: products have the precision that is asked for") {
  for (const std::string name : {"cpu", "emulator:sm_80", "emulator:sm_90a"})
    for (const tw::Precision precision : {tw::Precision::ieee, tw::Precision::tf32x3, tw::Precision::bf16x3, tw::Precision::standard}) {
      CAPTURE(name);
      CAPTURE(static_cast<int>(precision));
      tw::Device device = tw::Device::open(name);
      Program p;
      add_products(p, precision, tolerance_of(precision, name));
      std::vector<tw::PlanOptions> all{{}, {.fuse = false}};
      if (precision == tw::Precision::ieee) all.push_back({.reassociate = false});
      for (const tw::PlanOptions& options : all) {
        CAPTURE(options.fuse);
        CAPTURE(options.reassociate);
        p.check_on(device, options);
      }
    }
}

// Only the call of a product licenses tf32: sums of products of elements are f32's, though kernels compute them as products of matrices.
TEST_CASE("graph programs: sums of products of elements have the precision of f32") {
  const auto hx = normal(kRows * kInner, 4), hw = normal(kInner * kColumns, 5);
  const auto sum_of = [&](auto term) {
    Numbers y(kRows * kColumns);
    for (int i = 0; i < kRows; ++i)
      for (int k = 0; k < kInner; ++k)
        for (int j = 0; j < kColumns; ++j) y[i * kColumns + j] += term(double(hx[i * kInner + k]), double(hw[k * kColumns + j]));
    return y;
  };
  for (const std::string name : {"cpu", "emulator:sm_80", "emulator:sm_90a"}) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    Program p;
    auto x = tw::expand_dims(p.input("x", {kRows, kInner}, hx), 2);
    auto w = tw::expand_dims(p.input("w", {kInner, kColumns}, hw), 0);
    p.output("product", tw::sum(x * w, 1), sum_of([](double a, double b) { return a * b; }), 1e-6);
    p.output("mean", tw::mean(x * w, 1), sum_of([](double a, double b) { return a * b / kInner; }), 1e-6);
    p.output("masked", tw::sum(tw::where(x > 0.0f, w, 0.0f), 1), sum_of([](double a, double b) { return a > 0 ? b : 0; }), 1e-6);
    p.output("factored", tw::sum((x + 2.0f) * w * w, 1), sum_of([](double a, double b) { return (a + 2) * b * b; }), 1e-6);
    p.output("added", tw::sum(x * w + x, 1), sum_of([](double a, double b) { return a * b + a; }), 2e-6);
    p.output("distance", tw::sum((x - w) * (x - w), 1), sum_of([](double a, double b) { return (a - b) * (a - b); }), 2e-6);
    p.output("exponential", tw::sum(tw::exp(x + w), 1), sum_of([](double a, double b) { return std::exp(a + b); }), 2e-6);
    for (const tw::PlanOptions& options : {tw::PlanOptions{}, tw::PlanOptions{.reassociate = false}}) p.check_on(device, options);
  }
}

// The first factor has the axes of two values, each of which lacks one.
TEST_CASE("graph programs: products of a column that meets a row have the precision that is asked for") {
  const auto hq = normal(kRows, 6), hk = normal(kInner, 7), hv = normal(kInner * kColumns, 8);
  const auto product = [&](auto weight) {
    Numbers weights(kRows * kInner);
    for (int i = 0; i < kRows; ++i)
      for (int k = 0; k < kInner; ++k) weights[i * kInner + k] = weight(double(hq[i]), double(hk[k]));
    return product_of(weights, numbers_of(hv), kRows, kInner, kColumns);
  };
  for (const std::string name : {"cpu", "emulator:sm_80", "emulator:sm_90a"}) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    Program p;
    auto q = p.input("q", {kRows, 1}, hq), k = p.input("k", {1, kInner}, hk), v = p.input("v", {kInner, kColumns}, hv);
    const auto output = [&](const std::string& of, const tw::Tensor<float>& weights, auto weight) {
      p.output(of, tw::matmul(weights, v, tw::Precision::ieee), product(weight), 1e-6);
      const auto terms = tw::expand_dims(weights, 2) * tw::expand_dims(v, 0);
      p.output("sum_of_" + of, tw::sum(terms, 1), product(weight), 1e-6);
    };
    output("difference", q - k, [](double a, double b) { return a - b; });
    output("exponential", tw::exp(q - k), [](double a, double b) { return std::exp(a - b); });
    output("square", (q * k + 1.0f) * (q * k + 1.0f), [](double a, double b) { return (a * b + 1) * (a * b + 1); });
    output("masked", tw::where(k > 0.0f, q + k, q), [](double a, double b) { return b > 0 ? a + b : a; });
    for (const tw::PlanOptions& options : {tw::PlanOptions{}, tw::PlanOptions{.reassociate = false}}) p.check_on(device, options);
  }
}

TEST_CASE("graph programs: a product of tf32 is one, where the target has it") {
  // 1 + 2^-12 is 1 in tf32.
  for (const bool fuse : {true, false}) {
    tw::Device device = tw::Device::open("emulator:sm_80");
    tw::Graph graph;
    auto x = graph.input<float>("x", {16, 16}), w = graph.input<float>("w", {16, 16});
    graph.output("y", tw::matmul(x, w));
    graph.output("z", tw::matmul(x, w, tw::Precision::ieee));
    const tw::Plan plan = graph.compile(device, {.fuse = fuse});
    std::vector<float> identity(256);
    for (int i = 0; i < 16; ++i) identity[i * 17] = 1;
    auto bx = device.upload(std::vector<float>(256, 1 + 0x1p-12f)), bw = device.upload(identity);
    auto y = device.allocate<float>(256), z = device.allocate<float>(256);
    plan.run({{"x", bx}, {"w", bw}, {"y", y}, {"z", z}});
    CHECK(y.download() == std::vector<float>(256, 1));
    CHECK(z.download() == std::vector<float>(256, 1 + 0x1p-12f));
  }
}

// In a loop a gather is a product with a mask. It gives the elements themselves, whatever their precision, infinities with their signs.
TEST_CASE("graph programs: what a gather picks of the results of a kernel is not rounded") {
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    CAPTURE(name);
    constexpr std::size_t rows = 2, columns = 16, length = 20;
    std::vector<float> x = normal(rows * columns * length, 11, 1);
    x[3] = -std::numeric_limits<float>::infinity();
    const std::vector<std::int32_t> index{1, 0, 1, 0, 0, 1};
    tw::Device device = tw::Device::open(name);
    tw::Graph graph;
    const auto least = tw::min(graph.input<float>("x", {rows, columns, length}), 2);
    const auto picked = tw::gather(least, graph.input<std::int32_t>("index", {std::ssize(index)}), 0);
    graph.output("least", least), graph.output("greatest", tw::cummax(picked, 1));
    tw::Plan plan = graph.compile(device);
    const auto in = device.upload(x);
    const auto at = device.upload(index);
    auto least_out = device.allocate<float>(rows * columns), out = device.allocate<float>(index.size() * columns);
    plan.run({{"x", in}, {"index", at}, {"least", least_out}, {"greatest", out}});
    const std::vector<float> values = least_out.download(), got = out.download();
    for (std::size_t i = 0; i < index.size(); ++i) {
      float greatest = -std::numeric_limits<float>::infinity();
      for (std::size_t j = 0; j < columns; ++j) {
        greatest = std::max(greatest, values[static_cast<std::size_t>(index[i]) * columns + j]);
        CHECK(got[i * columns + j] == greatest);
      }
    }
  }
}

}  // namespace graph_program
