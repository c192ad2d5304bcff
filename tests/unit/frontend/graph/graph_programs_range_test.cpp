// A result that is finite as the formula is written, with a few powers of 2 to spare, is finite and as exact when it is fused.
#include <algorithm>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

double f16_of(float x) { return number_of(tw::f16(x)); }

std::vector<float> scaled(std::vector<float> values, float scale) {
  for (float& v : values) v *= scale;
  return values;
}

TEST_CASE("graph range: attention in f16 with bounded scores keeps its weights") {
  const int queries = 5, keys = 150, head = 16;
  const auto hq = normal(queries * head, 1), hk = normal(keys * head, 2), hv = normal(keys * head, 3);
  for (const float cap : {3.0f, 20.0f, 30.0f}) {
    CAPTURE(cap);
    Numbers want;
    for (int i = 0; i < queries; ++i) {
      Numbers weights(keys);
      double total = 0;
      for (int j = 0; j < keys; ++j) {
        double s = 0;
        for (int d = 0; d < head; ++d) s += f16_of(hq[i * head + d]) * f16_of(hk[j * head + d]);
        weights[j] = std::exp(double(cap) * std::tanh(s * 0.25 / double(cap)));
        total += weights[j];
      }
      for (int d = 0; d < head; ++d) {
        double o = 0;
        for (int j = 0; j < keys; ++j) o += weights[j] / total * f16_of(hv[j * head + d]);
        want.push_back(o);
      }
    }
    Program p;
    auto q = p.input("q", {queries, head}, rounded_to<tw::f16>(hq)), k = p.input("k", {keys, head}, rounded_to<tw::f16>(hk)),
         v = p.input("v", {keys, head}, rounded_to<tw::f16>(hv));
    auto scores = tw::einsum("qd,kd->qk", q, k).to<float>() * 0.25f;
    auto weights = tw::softmax(tw::tanh(scores / cap) * cap, 1);
    p.output("f16", tw::matmul(weights.to<tw::f16>(), v), want, 4e-3);
    p.output("f32", tw::matmul(weights, v.to<float>()), want, 2e-3);
    p.check();
  }
}

TEST_CASE("graph range: what scales rows to f16 is applied before they are rounded") {
  const int rows = 5, inner = 96, columns = 24;
  const auto hg = normal(inner, 2, 0.3f), hw = normal(inner * columns, 3, 0.1f);
  for (const float scale : {1e-30f, 1e-7f, 1.0f, 1e6f, 1e15f}) {
    CAPTURE(scale);
    const auto hx = scaled(normal(rows * inner, 1), scale);
    Numbers rms, amax, mean;
    for (int r = 0; r < rows; ++r) {
      double squares = 0, most = 0, sum = 0;
      for (int k = 0; k < inner; ++k) {
        const double x = double(hx[r * inner + k]) / double(scale);
        squares += x * x / inner, most = std::max(most, std::fabs(x)), sum += std::fabs(x) / inner;
      }
      for (int c = 0; c < columns; ++c) {
        double product = 0;
        for (int k = 0; k < inner; ++k)
          product += double(hx[r * inner + k]) / double(scale) * (1 + double(hg[k])) * f16_of(hw[k * columns + c]);
        rms.push_back(product / std::sqrt(squares)), amax.push_back(product / most), mean.push_back(product / sum);
      }
    }
    Program p;
    auto x = p.input("x", {rows, inner}, hx);
    auto gamma = 1.0f + p.input("gamma", {inner}, hg);
    auto w = p.input("w", {inner, columns}, rounded_to<tw::f16>(hw));
    p.output("amax", tw::matmul((x / tw::max(tw::abs(x), 1, true) * gamma).to<tw::f16>(), w), amax, 4e-3);
    p.output("mean", tw::matmul((x / tw::mean(tw::abs(x), 1, true) * gamma).to<tw::f16>(), w), mean, 4e-3);
    if (scale > 1e-20f) p.output("rms", tw::matmul(tw::rms_norm(x, gamma, 0.0).to<tw::f16>(), w), rms, 4e-3);
    p.check();
  }
}

TEST_CASE("graph range: a norm is scaled by the largest magnitude") {
  const int rows = 3, n = 700;
  for (const float scale : {1e-30f, 1.0f, 1e30f}) {
    CAPTURE(scale);
    const auto hx = scaled(normal(rows * n, 1), scale);
    Numbers want;
    for (int r = 0; r < rows; ++r) {
      double squares = 0;
      for (int i = 0; i < n; ++i) squares += double(hx[r * n + i]) * double(hx[r * n + i]);
      want.push_back(std::sqrt(squares));
    }
    Program p;
    const tw::Dim length = p.graph.dim("n");
    auto x = p.input("x", {rows, length}, hx);
    auto most = tw::max(tw::abs(x), 1, true);
    auto small = x / most;
    p.output("norm", tw::squeeze(most * tw::sqrt(tw::sum(small * small, 1, true)), 1), want, 1e-5);
    p.check();
  }
}

TEST_CASE("graph range: densities by their logarithms") {
  const int n = 900;
  std::vector<float> hx(n);
  for (int i = 0; i < n; ++i) hx[i] = 0.3f + 0.2f * float(i) / n;
  const float log_beta = float(std::lgamma(200.0) + std::lgamma(300.0) - std::lgamma(500.0));
  Numbers want;
  double mean = 0;
  for (float x : hx) {
    want.push_back(std::exp(199 * std::log(double(x)) + 299 * std::log1p(-double(x)) - double(log_beta)));
    mean += want.back() * double(x);
  }
  Program p;
  auto x = p.input("x", {n}, hx);
  auto density = tw::exp(199.0f * tw::log(x) + 299.0f * tw::log(1.0f - x) - log_beta);
  p.output("density", density, want, 1e-4);
  p.output("mean", tw::sum(density * x), {mean}, 1e-4);
  p.check();
}

TEST_CASE("graph range: exponentials of differences from a mean, of which the first are low") {
  const int rows = 8, n = 3000, low = 375, columns = 16;
  auto hx = normal(rows * n, 1);
  const auto hv = normal(n * columns, 2);
  for (int r = 0; r < rows; ++r)
    for (int i = 0; i < n; ++i) hx[r * n + i] += i < low ? -80.0f : 90.0f;
  Numbers want;
  for (int r = 0; r < rows; ++r) {
    double mean = 0, total = 0;
    Numbers weights;
    for (int i = 0; i < n; ++i) mean += double(hx[r * n + i]) / n;
    for (int i = 0; i < n; ++i) weights.push_back(std::exp(double(hx[r * n + i]) - mean)), total += weights.back();
    for (int c = 0; c < columns; ++c) {
      double o = 0;
      for (int i = 0; i < n; ++i) o += weights[i] / total * double(hv[i * columns + c]);
      want.push_back(o);
    }
  }
  Program p;
  const tw::Dim length = p.graph.dim("n");
  auto x = p.input("x", {rows, length}, hx), v = p.input("v", {length, columns}, hv);
  auto weights = tw::exp(x - tw::mean(x, 1, true));
  p.output("mixed", tw::matmul(weights / tw::sum(weights, 1, true), v), want, 1e-3);
  p.check();
}

TEST_CASE("graph range: small numbers stay inside of sums of great ones") {
  const int rows = 3, n = 600;
  for (const float scale : {1e-30f, 3e-20f}) {
    CAPTURE(scale);
    const auto hx = normal(rows * n, 1, 3e37f), hy = normal(rows * n, 2, 1e-30f);
    Numbers sums, great;
    for (int r = 0; r < rows; ++r) {
      double a = 0, b = 0;
      for (int i = 0; i < n; ++i) {
        const double x = std::fabs(double(hx[r * n + i])), y = double(hy[r * n + i]);
        a += x * double(scale), b += y * double(1 / scale);
      }
      sums.push_back(a), great.push_back(b);
    }
    Program p;
    auto x = tw::abs(p.input("x", {rows, n}, hx)), y = p.input("y", {rows, n}, hy);
    p.output("sums", tw::sum(x * scale, 1), sums, 1e-5);
    p.output("great", tw::sum(y * (1 / scale), 1), great, 1e-4);
    p.check();
  }
}

TEST_CASE("graph range: quotients of great and of small numbers") {
  const int n = 300;
  for (const float scale : {1e-30f, 1.0f, 1e30f}) {
    CAPTURE(scale);
    std::vector<float> h[4];
    for (unsigned i = 0; i < 4; ++i) {
      h[i] = normal(n, i);
      for (float& x : h[i]) x = (std::fabs(x) + 0.1f) * scale;
    }
    Numbers pairs, square, weighted;
    double sum = 0;
    for (int i = 0; i < n; ++i) {
      const double x = double(h[0][i]) / h[1][i], y = double(h[2][i]) / h[3][i];
      pairs.push_back(x * y), square.push_back(x * x), weighted.push_back(x * y * 3 + 1), sum += x * y;
    }
    Program p;
    auto a = p.input("a", {n}, h[0]), b = p.input("b", {n}, h[1]), c = p.input("c", {n}, h[2]), d = p.input("d", {n}, h[3]);
    auto x = a / b, y = c / d;
    p.output("pairs", x * y, pairs, 1e-6);
    p.output("square", x * x, square, 1e-6);
    p.output("weighted", 3.0f * x * y + 1.0f, weighted, 1e-6);
    p.output("masked", tw::where(a > 0.0f, x * y, 0.0f), pairs, 1e-6);
    p.output("sum", tw::sum(x * y), {sum}, 1e-5);
    p.check();
  }
}

// exp(score) alone overflows; exp(score - max) does not, whether the score is known to be finite or, as a quotient is, not.
template <class T>
void check_masked_softmax(int columns, double tolerance) {
  const int rows = 3;
  const auto hx = normal(rows * columns, 1, 2), hy = normal(rows * columns, 2, 0.01f);
  std::vector<T> x, y;
  std::vector<bool> mask;
  for (int i = 0; i < rows * columns; ++i) {
    x.push_back(T(600 + hx[i])), y.push_back(T(1 + hy[i]));
    mask.push_back(i % columns >= 7 && i % 3 != 0);
  }
  const auto softmax_of = [&](auto score) {
    Numbers want;
    for (int r = 0; r < rows; ++r) {
      double most = -HUGE_VAL, total = 0;
      for (int pass = 0; pass < 3; ++pass)
        for (int c = 0; c < columns; ++c) {
          const int i = r * columns + c;
          const double s = mask[i] ? score(number_of(x[i]), number_of(y[i])) : -HUGE_VAL;
          if (pass == 0) most = std::max(most, s);
          if (pass == 1) total += std::exp(s - most);
          if (pass == 2) want.push_back(std::exp(s - most) / total);
        }
    }
    return want;
  };
  Program p;
  auto tx = p.input("x", {rows, columns}, x), ty = p.input("y", {rows, columns}, y);
  auto seen = p.input("mask", {rows, columns}, mask);
  const auto masked = [&](auto s) { return tw::softmax(tw::where(seen, s, -tw::inf), 1); };
  p.output("quotient", masked(tx / ty), softmax_of([](double a, double b) { return a / b; }), tolerance);
  p.output("logarithm", masked(tw::log(tx) * 100), softmax_of([](double a, double) { return 100 * std::log(a); }), tolerance);
  p.output("root", masked(tw::sqrt(tx) * 30), softmax_of([](double a, double) { return 30 * std::sqrt(a); }), tolerance);
  p.check();
}

TEST_CASE("graph range: a masked softmax of scores that may be infinite") {
  for (const int columns : {33, 150}) {
    CAPTURE(columns);
    check_masked_softmax<float>(columns, 2e-3);
    check_masked_softmax<double>(columns, 1e-10);
  }
}

TEST_CASE("graph range: a value that is squared more often than an exponent has bits") {
  const std::vector<float> hx{1, -1, 0, 0.5f};
  Program p;
  auto x = p.input("x", {4}, hx);
  for (int i = 0; i < 160; ++i) x = x * x;
  p.output("power", x, {1, 1, 0, 0});
  p.output("sum", tw::sum(x * 0.5f), {1});
  p.check();
}

// As written, each coefficient is applied to its own value. Together they have no common scale.
TEST_CASE("graph range: sums whose coefficients are far apart, and recurrences that make them so") {
  const int n = 40;
  const auto hx = normal(n, 1), hz = normal(n, 2);
  Numbers far, three, horner, momentum, doubled;
  const int doublings = 150, steps = 30;
  for (int i = 0; i < n; ++i) {
    const double x = hx[i], z = hz[i];
    far.push_back(1e20 * x + 1e-25 * z);
    three.push_back(1.1e-18 * x + 1.3e15 * z + 0.7 * (x * z));
    double h = 0.3 * x, p = x, v = 0;
    for (int k = 0; k < steps; ++k) h = 0.77 * h + (0.1 + 0.37 * k) * z;
    for (int k = 0; k < steps; ++k) v = 0.9 * v - 0.01 * (p - z), p += v;
    horner.push_back(h), momentum.push_back(p), doubled.push_back(std::ldexp(x * 1e-30, doublings));
  }
  Program p;
  auto x = p.input("x", {n}, hx), z = p.input("z", {n}, hz);
  p.output("far", 1e20f * x + 1e-25f * z, far);
  p.output("three", 1.1e-18f * x + 1.3e15f * z + 0.7f * (x * z), three);
  p.check();
  // As written these are 200 kernels.
  Program recurrences;
  x = recurrences.input("x", {n}, hx), z = recurrences.input("z", {n}, hz);
  auto h = 0.3f * x, at = x, v = z * 0.0f, t = x * 1e-30f;
  for (int k = 0; k < steps; ++k) h = 0.77f * h + static_cast<float>(0.1 + 0.37 * k) * z;
  for (int k = 0; k < steps; ++k) {
    v = 0.9f * v - 0.01f * (at - z);
    at = at + v;
  }
  for (int k = 0; k < doublings; ++k) t = t + t;
  recurrences.output("horner", h, horner);
  recurrences.output("momentum", at, momentum);
  recurrences.output("doubled", t, doubled);
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    tw::Device device = tw::Device::open(name);
    recurrences.check_on(device);
  }
}

TEST_CASE("graph range: recurrences whose coefficient is squared at each step, in each order") {
  const int n = 16;
  std::vector<float> hx;
  for (int i = 0; i < n; ++i) hx.push_back(0.25f + 0.03f * float(i));
  struct Order {
    const char* name;
    std::function<tw::Tensor<float>(tw::Tensor<float>, float)> step;
  };
  const Order orders[] = {
      {"c t (1 - t)", [](auto t, float c) { return c * t * (1.0f - t); }},
      {"t (1 - t) c", [](auto t, float c) { return t * (1.0f - t) * c; }},
      {"(t - 1) t (-c)", [](auto t, float c) { return (t - 1.0f) * t * -c; }},
      {"(1 - t) (t / (1 / c))", [](auto t, float c) { return (1.0f - t) * (t / (1 / c)); }},
  };
  for (const float c : {3.25f, 2.9f})
    for (const int steps : {7, 10, 25, 40, 50, 70})
      for (const Order& order : orders) {
        if (c != 3.25f && steps != 10 && steps != 50) continue;
        CAPTURE(c);
        CAPTURE(steps);
        CAPTURE(order.name);
        Numbers want(hx.begin(), hx.end());
        for (double& v : want)
          for (int k = 0; k < steps; ++k) v = double(c) * v * (1 - v);
        Program p;
        auto t = p.input("x", {n}, hx);
        for (int k = 0; k < steps; ++k) t = order.step(t, c);
        p.output("after", t, want, 2e-5);
        p.check();
      }
}

// Steps of Newton's method halve their error, or square it, if a step uses one value of the step before: two values that were rounded
// differently move apart, by a factor of two at each step.
TEST_CASE("graph range: recurrences that correct themselves") {
  const int n = 32, steps = 20;
  std::vector<float> hx, ha;
  for (int i = 0; i < n; ++i) hx.push_back(0.3f + 0.01f * float(i)), ha.push_back(0.55f + 0.013f * float(i));
  struct Step {
    const char* name;
    std::function<double(double y, double a)> exact;
    std::function<tw::Tensor<float>(tw::Tensor<float>, tw::Tensor<float>)> step;
  };
  const Step all[] = {
      {"2 y - a y y", [](double y, double a) { return 2 * y - a * y * y; }, [](auto y, auto a) { return 2.0f * y - a * y * y; }},
      {"y 2 - y y a", [](double y, double a) { return 2 * y - a * y * y; }, [](auto y, auto a) { return y * 2.0f - y * y * a; }},
      {"y + (y - a y y)", [](double y, double a) { return 2 * y - a * y * y; }, [](auto y, auto a) { return y + (y - a * y * y); }},
      {"y + (y - y y y)", [](double y, double) { return 2 * y - y * y * y; }, [](auto y, auto) { return y + (y - y * y * y); }},
      {"2 y - 2 y y", [](double y, double) { return 2 * y - 2 * y * y; }, [](auto y, auto) { return 2.0f * y - 2.0f * y * y; }},
  };
  for (const Step& s : all) {
    CAPTURE(s.name);
    Numbers want(hx.begin(), hx.end());
    for (std::size_t i = 0; i < want.size(); ++i)
      for (int k = 0; k < steps; ++k) want[i] = s.exact(want[i], double(ha[i]));
    Program p;
    auto y = p.input("y", {n}, hx), a = p.input("a", {n}, ha);
    for (int k = 0; k < steps; ++k) y = s.step(y, a);
    p.output("after", y, want, 1e-6);
    p.check();
  }
}

// Each norm is near 1 whatever the size of the data; squares of products of all of them are not.
TEST_CASE("graph range: a mask does not change the order of a product") {
  for (const int rows : {1, 4}) {
    CAPTURE(rows);
    const int columns = 64, count = rows * columns;
    const auto ha = scaled(normal(count, 1), 1e-15f), hb = scaled(normal(count, 2), 1e20f), hc = scaled(normal(count, 3), 1e20f);
    std::vector<bool> seen(count);
    Numbers want, squared, sums;
    for (int i = 0; i < count; ++i) {
      seen[i] = i % 3 != 0;
      want.push_back(seen[i] ? double(ha[i]) * double(hb[i]) * double(hc[i]) : 0.0);
      squared.push_back(seen[i] ? std::pow(double(ha[i]) * double(hb[i]), 2) : 0.0);
    }
    for (int r = 0; r < rows; ++r) {
      double sum = 0;
      for (int c = 0; c < columns; ++c) sum += want[r * columns + c];
      sums.push_back(sum);
    }
    Program p;
    const auto a = p.input("a", {rows, columns}, ha), b = p.input("b", {rows, columns}, hb), c = p.input("c", {rows, columns}, hc);
    const auto m = p.input("m", {rows, columns}, seen);
    const auto zero = [&](const tw::Tensor<float>& x) { return tw::where(m, x, 0.0f); };
    p.output("last", (a * b) * zero(c), want);
    p.output("first", zero(a * b) * c, want);
    p.output("middle", a * zero(b) * c, want);
    p.output("number", a * m.to<float>() * b * c, want);
    const auto u = zero(b) * a;
    p.output("squared", u * u, squared);
    p.output("sums", tw::sum((a * b) * zero(c), {1}), sums);
    p.check();
  }
}

TEST_CASE("graph range: norms with gains in a row, of symbolic and of constant lengths") {
  struct Length {
    int columns;
    bool is_symbolic;
  };
  for (const float size : {1e-8f, 1.0f, 3e7f})
    for (const auto& [columns, is_symbolic] : {Length{70, true}, Length{64, false}, Length{70, false}, Length{32, false}}) {
      const int rows = 3;
      CAPTURE(size);
      CAPTURE(columns);
      CAPTURE(is_symbolic);
      const auto hx = scaled(normal(rows * columns, 1), size), hz = scaled(normal(rows * columns, 2), size),
                 hw = scaled(normal(rows * columns, 3), size);
      Numbers by_squares, by_sums;
      for (int r = 0; r < rows; ++r) {
        Numbers a(columns), b(columns);
        const auto at = [&](const std::vector<float>& x, int c) { return double(x[static_cast<std::size_t>(r * columns + c)]); };
        const auto divide = [&](Numbers& x, double power) {
          double sum = 0;
          for (double v : x) sum += std::pow(std::fabs(v), power) / columns;
          for (double& v : x) v /= std::pow(sum, 1 / power);
        };
        for (int c = 0; c < columns; ++c) a[c] = b[c] = at(hx, c);
        for (const std::vector<float>* gain : {&hz, &hw, static_cast<const std::vector<float>*>(nullptr)}) {
          divide(a, 2), divide(b, gain == &hw ? 1 : 2);
          for (int c = 0; c < columns && gain; ++c) a[c] *= at(*gain, c), b[c] *= at(*gain, c);
        }
        by_squares.insert(by_squares.end(), a.begin(), a.end()), by_sums.insert(by_sums.end(), b.begin(), b.end());
      }
      Program p;
      const tw::Dim n = is_symbolic ? p.graph.dim("n") : tw::Dim(columns);
      const auto input = [&](const char* name, const std::vector<float>& x) { return p.input(name, {rows, n}, x); };
      auto x = input("x", hx), z = input("z", hz), w = input("w", hw);
      if (is_symbolic) p.set_number("n", columns);
      const auto rms = [](const auto& v) { return v / tw::sqrt(tw::mean(v * v, {1}, true)); };
      const auto mean = [](const auto& v) { return v / tw::mean(tw::abs(v), {1}, true); };
      p.output("squares", rms(rms(rms(x) * z) * w), by_squares);
      p.output("sums", rms(mean(rms(x) * z) * w), by_sums);
      p.check();
    }
}

}  // namespace
}  // namespace graph_program
