// Each element of a result needs a value of the whole tensor: fused kernels must not compute that value again in each of many programs.
#include <numeric>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

using T = tw::Tensor<float>;

/// The instructions that the warps of an emulated device execute. The outputs are compared, too.
double instructions(const Program& p, bool fuse) {
  tw::Device device = tw::Device::open("emulator:sm_80");
  const tw::Plan plan = p.graph.compile(device, {.fuse = fuse});
  (void)device.take_reports();
  p.check(device, plan);
  double all = 0;
  for (const tw::KernelReport& r : device.take_reports()) all += static_cast<double>(r.instructions);
  return all;
}

/// A kernel that repeats the whole for each row or tile executes some 50 times as many instructions.
void check_work(const Program& p) {
  const double fused = instructions(p, true), unfused = instructions(p, false);
  CAPTURE(p.graph.compile(tw::Device::open("emulator:sm_80")).explain());
  CHECK(fused > 0);
  CHECK(fused <= 1.5 * unfused);
  tw::Device device = tw::Device::open("cpu");
  p.check(device, p.graph.compile(device));
}

struct Case {
  const char* name;
  std::function<T(const T& x)> formula;
  std::function<double(const Numbers& x, std::size_t i)> want;
};

double sum_of(const Numbers& x) { return std::accumulate(x.begin(), x.end(), 0.0); }
double square_of(const Numbers& x) { return std::inner_product(x.begin(), x.end(), x.begin(), 0.0); }
double largest(const Numbers& x) {
  double most = 0;
  for (double v : x) most = std::max(most, std::abs(v));
  return most;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"x / sum x", [](const T& x) { return x / tw::sum(x); }, [](const Numbers& x, std::size_t i) { return x[i] / sum_of(x); }},
      {"x / max |x|", [](const T& x) { return x / tw::max(tw::abs(x)); },
       [](const Numbers& x, std::size_t i) { return x[i] / largest(x); }},
      {"x / norm x", [](const T& x) { return x * tw::rsqrt(tw::sum(x * x)); },
       [](const Numbers& x, std::size_t i) { return x[i] / std::sqrt(square_of(x)); }},
      {"(x - sum x / max |x|) / norm x", [](const T& x) { return (x - tw::sum(x) / tw::max(tw::abs(x))) / tw::sqrt(tw::sum(x * x)); },
       [](const Numbers& x, std::size_t i) { return (x[i] - sum_of(x) / largest(x)) / std::sqrt(square_of(x)); }},
  };
  return all;
}

/// What a case is for all elements: it is linear in x[i], and what it needs of the whole tensor takes long, so two elements are computed.
Numbers wanted(const Case& c, const Numbers& x) {
  const double first = c.want(x, 0), slope = (c.want(x, 1) - first) / (x[1] - x[0]);
  Numbers want;
  for (double v : x) want.push_back(first + slope * (v - x[0]));
  return want;
}

/// Numbers whose sum is far from 0.
std::vector<float> data(unsigned seed) {
  std::vector<float> values = normal(288 * 288, seed);
  for (float& v : values) v += 0.5f;
  return values;
}

}  // namespace

TEST_CASE("graph programs: a value of the whole tensor is computed once") {
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    const std::vector<float> values = data(1);
    for (const std::vector<tw::Dim>& shape : {std::vector<tw::Dim>{288, 288}, {36, 48, 48}, {288 * 288}}) {
      CAPTURE(shape.size());
      Program p;
      p.output("y", c.formula(p.input<float>("x", shape, values)), wanted(c, numbers_of(values)), 1e-4);
      check_work(p);
    }
  }
}

TEST_CASE("graph programs: a value of the whole tensor is computed once for extents that are not known") {
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    const std::vector<float> values = data(2);
    Program p;
    const tw::Dim rows = p.graph.dim("rows"), columns = p.graph.dim("columns");
    p.set_number("rows", 288), p.set_number("columns", 288);
    p.output("y", c.formula(p.input<float>("x", {rows, columns}, values)), wanted(c, numbers_of(values)), 1e-4);
    check_work(p);
  }
}

TEST_CASE("graph programs: sums of rows over their total read the matrix once") {
  constexpr int kRows = 512, kColumns = 256;
  const std::vector<float> values = normal(kRows * kColumns, 3);
  for (bool has_mean : {false, true}) {
    CAPTURE(has_mean);
    Program p;
    const T x = p.input<float>("x", {kRows, kColumns}, values);
    const T of_rows = tw::sum(x * x, 1);
    Numbers want(kRows);
    for (std::size_t i = 0; i < values.size(); ++i) want[i / kColumns] += static_cast<double>(values[i]) * values[i];
    const double total = sum_of(want);
    for (double& w : want) w = has_mean ? w - total / kRows : w / total;
    p.output("y", has_mean ? of_rows - tw::mean(of_rows) : of_rows / tw::sum(of_rows), want, 1e-4);
    check_work(p);
  }
}

// The programs of an update along n must not sum over k, or over n, each for itself.
TEST_CASE("graph programs: work grows as the tensors do where extents are not known") {
  double before = 0;
  for (int n : {20000, 80000}) {
    const std::vector<float> w = normal(n, 4), g = normal(n, 5), other = normal(512, 6);
    Program p;
    const tw::Dim extent = p.graph.dim("n"), k = p.graph.dim("k");
    p.set_number("n", n), p.set_number("k", 512);
    const T weight = p.input<float>("w", {extent}, w), gradient = p.input<float>("g", {extent}, g),
            bias = p.input<float>("other", {k}, other);
    const double norm = std::sqrt(square_of(numbers_of(g)) + square_of(numbers_of(other)));
    Numbers want(w.size());
    for (std::size_t i = 0; i < want.size(); ++i) want[i] = w[i] - 0.1 * std::min(1.0, 1 / norm) * g[i];
    const T norms = tw::sqrt(tw::sum(gradient * gradient) + tw::sum(bias * bias));
    p.output("y", weight - 0.1f * tw::minimum(1.0f, 1.0f / norms) * gradient, want, 1e-4);
    const double now = instructions(p, true);
    if (before > 0) CHECK(now <= 6 * before);
    before = now;
  }
}

}  // namespace graph_program
