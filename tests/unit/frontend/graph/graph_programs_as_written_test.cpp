// Plans without reassociation: formulas are fused, and computed as they are written.
#include <algorithm>

#include "tests/unit/frontend/graph/graph_program.h"
#include "tests/unit/frontend/graph/open_proof.h"

namespace graph_program {
namespace {

constexpr tw::PlanOptions kAsWritten{.reassociate = false};

Numbers product_of(const std::vector<float>& a, const std::vector<float>& b, int rows, int inner, int columns) {
  Numbers c(static_cast<std::size_t>(rows * columns));
  for (int i = 0; i < rows; ++i)
    for (int k = 0; k < inner; ++k)
      for (int j = 0; j < columns; ++j) c[i * columns + j] += double(a[i * inner + k]) * double(b[k * columns + j]);
  return c;
}

/// On a host and GPUs; the greatest number of kernels.
std::size_t check_as_written(const Program& p) {
  std::size_t most = 0;
  for (const std::string name : {"cpu", "emulator:sm_80", "emulator:sm_90a"}) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    const tw::Plan plan = p.check_on(device, kAsWritten);
    CHECK(is_exact_or_compares_nothing(plan.proof()));
    most = std::max(most, plan.kernels().size());
  }
  return most;
}

}  // namespace

TEST_CASE("graph programs: as written, element-wise work and what is around a product are one kernel") {
  const int m = 45, k = 60, n = 33;
  const auto hx = normal(m * k, 1), hg = normal(k, 2), hw = normal(k * n, 3), hb = normal(n, 4);
  std::vector<float> scaled = hx;
  for (int i = 0; i < m * k; ++i) scaled[i] = std::tanh(hx[i]) * hg[i % k];
  Numbers want = product_of(scaled, hw, m, k, n), bent;
  for (int i = 0; i < m * n; ++i) want[i] = std::max(want[i] + double(hb[i % n]), 0.0);
  for (float v : hx) bent.push_back(std::exp(-std::fabs(double(v))) / (1 + double(v) * double(v)) - 0.5);
  Program p;
  auto x = p.input("x", {m, k}, hx), g = p.input("g", {k}, hg), w = p.input("w", {k, n}, hw), b = p.input("b", {n}, hb);
  p.output("y", tw::relu(tw::matmul(tw::tanh(x) * g, w) + b), want, 2e-3);
  CHECK(check_as_written(p) == 1);
  Program q;
  x = q.input("x", {m, k}, hx);
  q.output("bent", tw::exp(-tw::abs(x)) / (1.0f + x * x) - 0.5f, bent);
  CHECK(check_as_written(q) == 1);
}

TEST_CASE("graph programs: as written, norms, softmax and attention need few kernels, and no sum is taken apart") {
  const int rows = 40, keys = 96, d = 32;
  const auto hq = normal(rows * d, 1), hk = normal(d * keys, 2), hv = normal(keys * d, 3);
  Numbers scores = product_of(hq, hk, rows, d, keys), soft = scores, normed;
  for (int i = 0; i < rows; ++i) {
    double most = -HUGE_VAL, total = 0, mean = 0, square = 0;
    for (int j = 0; j < keys; ++j) most = std::max(most, 0.2 * scores[i * keys + j]);
    for (int j = 0; j < keys; ++j) total += soft[i * keys + j] = std::exp(0.2 * scores[i * keys + j] - most);
    for (int j = 0; j < keys; ++j) soft[i * keys + j] /= total;
    for (int c = 0; c < d; ++c) mean += double(hq[i * d + c]) / d;
    for (int c = 0; c < d; ++c) square += (double(hq[i * d + c]) - mean) * (double(hq[i * d + c]) - mean) / d;
    for (int c = 0; c < d; ++c) normed.push_back((double(hq[i * d + c]) - mean) / std::sqrt(square + 1e-5));
  }
  Numbers attended(static_cast<std::size_t>(rows * d));
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < keys; ++j)
      for (int c = 0; c < d; ++c) attended[i * d + c] += soft[i * keys + j] * double(hv[j * d + c]);
  Program p;
  auto q = p.input("q", {rows, d}, hq), k = p.input("k", {d, keys}, hk), v = p.input("v", {keys, d}, hv);
  auto weights = tw::softmax(tw::matmul(q, k) * 0.2f, -1);
  p.output("attended", tw::matmul(weights, v), attended, 2e-3);
  CHECK(check_as_written(p) <= 3);
  Program r;
  q = r.input("q", {rows, d}, hq);
  auto centred = q - tw::mean(q, -1, true);
  r.output("normed", centred * tw::rsqrt(tw::mean(centred * centred, -1, true) + 1e-5f), normed, 1e-5);
  CHECK(check_as_written(r) <= 2);
}

TEST_CASE("graph programs: as written, what cancels, overflows or is rounded does so") {
  const int rows = 8, columns = 50;
  const auto hx = normal(rows * columns, 1);
  std::vector<float> large = hx;
  for (float& v : large) v = 1e4f + v;
  Numbers variances, centred_sums;
  for (int i = 0; i < rows; ++i) {
    double mean = 0, square = 0;
    for (int c = 0; c < columns; ++c) mean += double(large[i * columns + c]) / columns;
    for (int c = 0; c < columns; ++c) square += std::pow(double(large[i * columns + c]) - mean, 2) / columns;
    variances.push_back(square);
  }
  const float a = 1e8f;
  Program p;
  auto x = p.input("x", {rows, columns}, large);
  auto c = x - tw::mean(x, 1, true);
  p.output("variance", tw::mean(c * c, 1), variances, 1e-3);
  auto one = p.input("one", {1}, std::vector<float>{1});
  p.output("absorbed", (one + a) - a, {0}, 0);
  p.output("infinite", one * 3e38f * 10.0f * 1e-10f, {HUGE_VAL}, 0);
  p.output("nan", (one - one) / (one - one), {NAN}, 0);
  p.output("saturated", (one * 1e5f).to<tw::f16>().to<float>() * 0.0f, {NAN}, 0);
  p.output("halved", (one * 0.1f).to<tw::f16>().to<float>(), {number_of(tw::f16(0.1f))}, 0);
  check_as_written(p);
}

TEST_CASE("graph programs: as written, a softmax of products refers to the greatest of them") {
  for (const auto& [scale, mean] : {std::pair(1.1f, 1e4f), std::pair(1.1f, 1e5f), std::pair(3e9f, 0.0f)})
    for (const bool is_symbolic : {false, true}) {
      CAPTURE(scale);
      CAPTURE(mean);
      CAPTURE(is_symbolic);
      const int rows = 3, columns = 75;
      std::vector<float> hx = normal(rows * columns, 1, 4);
      Numbers weights;
      for (int i = 0; i < rows; ++i) {
        Numbers t;
        double most = -HUGE_VAL, total = 0;
        for (int j = 0; j < columns; ++j) {
          hx[i * columns + j] += mean;
          t.push_back(double(hx[i * columns + j] * scale));
          most = std::max(most, t.back());
        }
        for (double& v : t) total += v = std::exp(v - most);
        for (double v : t) weights.push_back(v / total);
      }
      Program p;
      const tw::Dim m = is_symbolic ? p.graph.dim("m") : tw::Dim(columns);
      auto x = p.input("x", {rows, m}, hx);
      p.output("weights", tw::softmax(x * scale, 1), weights, 1e-5);
      p.may_leave_open = scale > 1e9f;
      check_as_written(p);
    }
}

TEST_CASE("graph programs: as written, the same bits as node by node where no sum has another order") {
  const int n = 1000;
  const auto hx = normal(n, 1), hy = normal(n, 2);
  for (const std::string& name : devices()) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    tw::Graph graph;
    auto x = graph.input<float>("x", {n}), y = graph.input<float>("y", {n});
    // No product is added to anything, because kernels may contract that to a single rounding.
    graph.output("z", tw::maximum(x, y) * tw::sqrt(tw::abs((x + y) / (x - 0.3f))));
    std::vector<std::vector<float>> results;
    for (const tw::PlanOptions& options : {kAsWritten, tw::PlanOptions{.fuse = false}}) {
      const tw::Plan plan = graph.compile(device, options);
      CHECK((plan.kernels().size() == 1) == options.fuse);
      auto bx = device.upload(hx), by = device.upload(hy), z = device.allocate<float>(n);
      plan.run({{"x", bx}, {"y", by}, {"z", z}});
      results.push_back(z.download());
    }
    CHECK(results[0] == results[1]);
  }
}

TEST_CASE("graph programs: as written, parameters are prepared, and symbols, integers and masks work") {
  const int rows = 19, columns = 24;
  const auto hx = normal(rows * columns, 1), hw = normal(columns * columns, 2), hg = normal(columns, 3);
  std::vector<int32_t> hi;
  Numbers sums(rows), places(rows), masked(rows, -HUGE_VAL), product(static_cast<std::size_t>(rows * columns));
  for (int i = 0; i < rows * columns; ++i) hi.push_back(i * 7919 % 1000 - 500);
  for (int i = 0; i < rows; ++i)
    for (int c = 0; c < columns; ++c) {
      sums[i] += hi[i * columns + c];
      if (hi[i * columns + c] > hi[i * columns + static_cast<int>(places[i])]) places[i] = c;
      if (c <= i) masked[i] = std::max(masked[i], double(hx[i * columns + c]));
      for (int j = 0; j < columns; ++j)
        product[i * columns + j] += double(hx[i * columns + c]) * double(hg[c]) * double(hw[c * columns + j]);
    }
  Program p;
  const tw::Dim n = p.graph.dim("n");
  auto x = p.input("x", {n, columns}, hx);
  p.set("w", hw), p.set("g", hg);
  auto w = p.graph.parameter<float>("w", {columns, columns}), g = p.graph.parameter<float>("g", {columns});
  auto i = p.input("i", {n, columns}, hi);
  auto is_seen = tw::iota<int32_t>(p.graph, {n, columns}, 1) <= tw::iota<int32_t>(p.graph, {n, columns}, 0);
  p.output("sums", tw::sum(i, 1), sums, 0);
  p.output("places", tw::argmax(i, 1), places, 0);
  p.output("masked", tw::max(tw::where(is_seen, x, -tw::inf), 1), masked, 0);
  p.output("product", tw::matmul(x, tw::expand_dims(g, 1) * w), product, 2e-3);
  check_as_written(p);
}

}  // namespace graph_program
