// Norms, reductions along any axes, and what follows them, as users write them.
#include <algorithm>
#include <numeric>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {

TEST_CASE("graph programs: group norm over channels of a group and places") {
  const int batch = 2, groups = 3, channels = 6, height = 5, width = 7, each = channels / groups * height * width;
  const auto hx = normal(batch * channels * height * width, 1), hg = normal(channels, 2), hb = normal(channels, 3);
  Numbers want(hx.size());
  for (int b = 0; b < batch; ++b)
    for (int g = 0; g < groups; ++g) {
      const int first = (b * groups + g) * each;
      double mean = 0, variance = 0;
      for (int i = 0; i < each; ++i) mean += double(hx[first + i]) / each;
      for (int i = 0; i < each; ++i) variance += (hx[first + i] - mean) * (hx[first + i] - mean) / each;
      for (int i = 0; i < each; ++i) {
        const int c = g * 2 + i / (height * width);
        want[first + i] = (hx[first + i] - mean) / std::sqrt(variance + 1e-5) * double(hg[c]) + double(hb[c]);
      }
    }
  Program p;
  auto x = p.input("x", {batch, channels, height, width}, hx);
  auto gamma = p.input("gamma", {channels}, hg), beta = p.input("beta", {channels}, hb);
  auto grouped = tw::reshape(x, {batch, groups, channels / groups, height, width});
  auto centred = grouped - tw::mean(grouped, {2, 3, 4}, true);
  auto normed = tw::reshape(centred * tw::rsqrt(tw::mean(centred * centred, {2, 3, 4}, true) + 1e-5f), {batch, channels, height, width});
  p.output("y", normed * tw::reshape(gamma, {channels, 1, 1}) + tw::reshape(beta, {channels, 1, 1}), want);
  const tw::Plan plan = p.check();
  CHECK(plan.kernels().size() <= 2);
}

TEST_CASE("graph programs: batch norm over samples and places, with running statistics") {
  const int batch = 5, channels = 7, places = 33;
  const auto hx = normal(batch * channels * places, 1), hr = normal(channels, 2);
  Numbers want(hx.size()), running(channels), variances(channels);
  for (int c = 0; c < channels; ++c) {
    double mean = 0, variance = 0;
    const auto at = [&](int b, int i) { return (b * channels + c) * places + i; };
    for (int b = 0; b < batch; ++b)
      for (int i = 0; i < places; ++i) mean += double(hx[at(b, i)]) / (batch * places);
    for (int b = 0; b < batch; ++b)
      for (int i = 0; i < places; ++i) variance += (hx[at(b, i)] - mean) * (hx[at(b, i)] - mean) / (batch * places);
    for (int b = 0; b < batch; ++b)
      for (int i = 0; i < places; ++i) want[at(b, i)] = std::max((hx[at(b, i)] - mean) / std::sqrt(variance + 1e-5), 0.0);
    running[c] = 0.9 * double(hr[c]) + 0.1 * mean, variances[c] = variance;
  }
  for (const bool is_symbolic : {false, true}) {
    Program p;
    const tw::Dim n = is_symbolic ? p.graph.dim("n") : tw::Dim(batch);
    auto x = p.input("x", {n, channels, places}, hx);
    auto mean = tw::mean(x, {0, 2}, true);
    auto variance = tw::mean((x - mean) * (x - mean), {0, 2}, true);
    p.output("y", tw::relu((x - mean) / tw::sqrt(variance + 1e-5f)), want);
    p.output("running", 0.9f * p.input("old", {channels}, hr) + 0.1f * tw::squeeze(tw::squeeze(mean, 0), -1), running);
    p.output("variance", tw::reshape(variance, {channels}), variances);
    p.check();
  }
}

TEST_CASE("graph programs: every reduction along the first axis, the last axis, and all") {
  const int a = 11, b = 13, c = 17;
  const auto hx = normal(a * b * c, 1);
  const auto reduced = [&](int axis, auto&& f) {
    // f(values of a row) for each row.
    Numbers all;
    const int extents[] = {a, b, c}, strides[] = {b * c, c, 1};
    if (axis < 0) return Numbers{double(f(Numbers(hx.begin(), hx.end())))};
    const int first = axis == 0 ? 1 : 0, second = axis == 2 ? 1 : 2;
    for (int i = 0; i < extents[first]; ++i)
      for (int j = 0; j < extents[second]; ++j) {
        Numbers row;
        for (int k = 0; k < extents[axis]; ++k) row.push_back(hx[i * strides[first] + j * strides[second] + k * strides[axis]]);
        all.push_back(f(row));
      }
    return all;
  };
  const auto sum = [](const Numbers& r) { return std::accumulate(r.begin(), r.end(), 0.0); };
  const auto prod = [](const Numbers& r) {
    return std::accumulate(r.begin(), r.end(), 1.0, [](double x, double y) { return x * (1 + y / 8); });
  };
  const auto mean = [&](const Numbers& r) { return sum(r) / static_cast<double>(r.size()); };
  const auto max = [](const Numbers& r) { return *std::max_element(r.begin(), r.end()); };
  const auto min = [](const Numbers& r) { return *std::min_element(r.begin(), r.end()); };
  const auto argmax = [](const Numbers& r) { return double(std::max_element(r.begin(), r.end()) - r.begin()); };
  const auto argmin = [](const Numbers& r) { return double(std::min_element(r.begin(), r.end()) - r.begin()); };
  const auto any = [&](const Numbers& r) { return max(r) > 2.2; };
  const auto all = [&](const Numbers& r) { return min(r) > -2.2; };
  const auto lse = [](const Numbers& r) {
    return std::log(std::accumulate(r.begin(), r.end(), 0.0, [](double x, double y) { return x + std::exp(y); }));
  };
  for (const int axis : {0, 2, -1}) {
    CAPTURE(axis);
    Program p;
    auto x = p.input("x", {a, b, c}, hx);
    const auto along = [&](auto&& f) { return axis < 0 ? f(tw::Axes{0, 1, 2}) : f(tw::Axes(axis)); };
    p.output("sum", along([&](const tw::Axes& axes) { return tw::sum(x, axes); }), reduced(axis, sum));
    p.output("prod", along([&](const tw::Axes& axes) { return tw::prod(1.0f + x / 8.0f, axes); }), reduced(axis, prod));
    p.output("mean", along([&](const tw::Axes& axes) { return tw::mean(x, axes); }), reduced(axis, mean));
    p.output("max", along([&](const tw::Axes& axes) { return tw::max(x, axes); }), reduced(axis, max));
    p.output("min", along([&](const tw::Axes& axes) { return tw::min(x, axes); }), reduced(axis, min));
    p.output("argmax", along([&](const tw::Axes& axes) { return tw::argmax(x, axes); }), reduced(axis, argmax), 0);
    p.output("argmin", along([&](const tw::Axes& axes) { return tw::argmin(x, axes); }), reduced(axis, argmin), 0);
    p.output("any", along([&](const tw::Axes& axes) { return tw::any(x > 2.2f, axes); }), reduced(axis, any), 0);
    p.output("all", along([&](const tw::Axes& axes) { return tw::all(x > -2.2f, axes); }), reduced(axis, all), 0);
    p.output("logsumexp", along([&](const tw::Axes& axes) { return tw::logsumexp(x, axes); }), reduced(axis, lse));
    p.check();
  }
}

TEST_CASE("graph programs: argmax of long rows, of equals, of infinities and NaN") {
  const int rows = 3, n = 2500;
  std::vector<float> hx = normal(rows * n, 1);
  hx[700] = hx[1300] = 50;
  hx[n + 9] = -HUGE_VALF, hx[n + 2000] = NAN, hx[n + 2400] = NAN;
  for (int i = 0; i < n; ++i) hx[2 * n + i] = i % 2 ? 0.0f : -0.0f;
  const auto first = [&](int row, bool least) {
    int best = 0;
    for (int i = 0; i < n; ++i) {
      const float v = hx[row * n + i], b = hx[row * n + best];
      if (std::isnan(b)) break;
      if (std::isnan(v) || (least ? v < b : v > b)) best = i;
    }
    return double(best);
  };
  Program p;
  auto x = p.input("x", {rows, n}, hx);
  p.output("most", tw::argmax(x, 1), {first(0, false), first(1, false), first(2, false)}, 0);
  p.output("least", tw::argmin(x, 1), {first(0, true), first(1, true), first(2, true)}, 0);
  p.output("of all", tw::argmax(x), {n + 2000.0}, 0);
  std::vector<int64_t> integers;
  for (int i = 0; i < n; ++i) integers.push_back((int64_t{1} << 40) * (i * 7919 % n) - (int64_t{1} << 50));
  const auto most = std::max_element(integers.begin(), integers.end()) - integers.begin();
  const auto least = std::min_element(integers.begin(), integers.end()) - integers.begin();
  auto k = p.input("k", {n}, integers);
  p.output("most of integers", tw::argmax(k, 0), {double(most)}, 0);
  p.output(
      "of two", tw::argmin(tw::concat({tw::slice(x, 1, 0, 9), tw::slice(x, 1, 9, 30)}, 1), 1),
      [&] {
        Numbers all;
        for (int r = 0; r < rows; ++r) {
          int best = 0;
          for (int i = 1; i < 30; ++i)
            if (const float v = hx[r * n + i], b = hx[r * n + best]; !std::isnan(b) && (std::isnan(v) || v < b)) best = i;
          all.push_back(best);
        }
        return all;
      }(),
      0);
  auto narrow = p.input("narrow", {4}, std::vector<uint8_t>{9, 200, 7, 7});
  p.output("of bytes", tw::argmin(tw::concat({narrow, narrow}, 0), 0), {2}, 0);
  p.output("least of integers", tw::argmin(k, 0), {double(least)}, 0);
  p.check();
}

TEST_CASE("graph programs: rows of 100000") {
  const int rows = 2, n = 100000;
  const auto hx = normal(rows * n, 1);
  Numbers soft, sums, lse;
  for (int r = 0; r < rows; ++r) {
    double total = 0, sum = 0;
    for (int i = 0; i < n; ++i) total += std::exp(double(hx[r * n + i])), sum += hx[r * n + i];
    for (int i = 0; i < n; ++i) soft.push_back(std::exp(double(hx[r * n + i])) / total);
    sums.push_back(sum), lse.push_back(std::log(total));
  }
  Program p;
  auto x = p.input("x", {rows, n}, hx);
  p.output("softmax", tw::softmax(x, -1), soft);
  p.output("sum", tw::sum(x, -1), sums);
  p.output("logsumexp", tw::logsumexp(x, 1), lse);
  p.check();
}

TEST_CASE("graph programs: means and variances over extents of several symbols") {
  for (const auto& [n, m] : {std::pair{3, 40}, std::pair{20, 8}}) {
    const auto hx = normal(static_cast<std::size_t>(n) * m * 5, 1);
    Numbers means;
    double all = 0, square = 0;
    for (float v : hx) all += double(v) / (n * m * 5);
    for (float v : hx) square += (v - all) * (v - all) / (n * m * 5);
    for (int c = 0; c < 5; ++c) {
      double mean = 0;
      for (int i = 0; i < n * m; ++i) mean += double(hx[i * 5 + c]) / (n * m);
      means.push_back(mean);
    }
    Program p;
    const tw::Dim rows = p.graph.dim("n"), columns = p.graph.dim("m", {.max = 64, .multiple_of = 8});
    auto x = p.input("x", {rows, columns, 5}, hx);
    p.set_number("n", n);
    p.output("means", tw::mean(x, {0, 1}), means);
    auto centred = x - tw::mean(x);
    p.output("variance", tw::mean(centred * centred), {square});
    p.check();
  }
}

TEST_CASE("graph programs: reductions over three axes of any length") {
  const int a = 5, b = 70, c = 67;
  const auto hx = normal(a * b * c, 1);
  double sum = 0, most = 0;
  Numbers rows;
  for (int j = 0; j < b; ++j) {
    double row = 0;
    for (int i = 0; i < a; ++i)
      for (int k = 0; k < c; ++k) row += double(hx[(i * b + j) * c + k]) * double(hx[(i * b + j) * c + k]);
    rows.push_back(std::sqrt(row));
  }
  for (float v : hx) sum += double(v) * double(v), most = std::max(most, std::fabs(double(v)));
  Program p;
  const tw::Dim n = p.graph.dim("n"), m = p.graph.dim("m"), k = p.graph.dim("k");
  auto x = p.input("x", {n, m, k}, hx);
  p.set_number("n", a), p.set_number("m", b);
  p.output("norm", tw::sqrt(tw::sum(x * x)), {std::sqrt(sum)});
  p.output("amax", tw::max(tw::abs(x)), {most});
  p.output("rows", tw::sqrt(tw::sum(x * x, {0, 2})), rows);
  p.output("argmax", tw::argmax(x), {double(std::max_element(hx.begin(), hx.end()) - hx.begin())}, 0);
  p.check();
}

TEST_CASE("graph programs: logsumexp along axis 0, and of nothing but -inf") {
  const int n = 300, m = 6;
  auto hx = normal(n * m, 1, 30);
  for (int i = 0; i < n; ++i) hx[i * m + 2] = -HUGE_VALF;
  hx[7 * m + 4] = HUGE_VALF;
  Numbers want, soft(n * m);
  for (int c = 0; c < m; ++c) {
    double most = -HUGE_VAL, total = 0;
    for (int i = 0; i < n; ++i) most = std::max(most, double(hx[i * m + c]));
    for (int i = 0; i < n; ++i) total += std::exp(hx[i * m + c] - most);
    want.push_back(std::isinf(most) ? most : most + std::log(total));
    for (int i = 0; i < n; ++i) soft[i * m + c] = std::exp(hx[i * m + c] - most) / total;
  }
  Program p;
  auto x = p.input("x", {n, m}, hx);
  p.output("lse", tw::logsumexp(x, 0), want);
  auto finite = tw::slice(x, 1, 0, 4);
  Numbers left;
  for (int i = 0; i < n; ++i)
    for (int c = 0; c < 4; ++c) left.push_back(soft[i * m + c]);
  p.output("softmax", tw::softmax(finite, 0), left);
  p.check();
}

// Each function is its formula: max, differences, exponentials, their sum.
TEST_CASE("graph programs: softmax of rows with infinities and NaN") {
  for (const int n : {5, 300}) {
    CAPTURE(n);
    const int rows = 4, columns = 3;
    auto hx = normal(rows * n, 1);
    const auto hv = normal(n * columns, 2);
    hx[1] = HUGE_VALF, hx[2] = -HUGE_VALF;
    hx[2 * n - 1] = HUGE_VALF;
    hx[2 * n + 3] = NAN;
    for (int i = 0; i < n; ++i) hx[3 * n + i] = -HUGE_VALF;
    Numbers soft, logs, mixed(rows * columns);
    for (int r = 0; r < rows; ++r) {
      double most = -HUGE_VAL, total = 0;
      const auto at = [&](int i) { return double(hx[r * n + i]); };
      for (int i = 0; i < n; ++i) most = std::isnan(at(i)) || std::isnan(most) ? NAN : std::max(most, at(i));
      for (int i = 0; i < n; ++i) total += std::exp(at(i) - most);
      for (int i = 0; i < n; ++i) {
        soft.push_back(std::exp(at(i) - most) / total);
        logs.push_back(at(i) - most - std::log(total));
        for (int c = 0; c < columns; ++c) mixed[r * columns + c] += soft.back() * hv[i * columns + c];
      }
    }
    Program p;
    auto x = p.input("x", {rows, n}, hx), v = p.input("v", {n, columns}, hv);
    p.output("softmax", tw::softmax(x, 1), soft);
    p.output("log_softmax", tw::log_softmax(x, 1), logs);
    p.output("mixed", tw::matmul(tw::softmax(x, 1), v), mixed, 2e-3);
    p.output("reversed", tw::softmax(tw::flip(x, 1), 1), [&] {
      Numbers flipped;
      for (int r = 0; r < rows; ++r)
        for (int i = n; i-- > 0;) flipped.push_back(soft[r * n + i]);
      return flipped;
    }());
    p.check();
  }
}

TEST_CASE("graph programs: a norm of rows of one element, of primes, and of a scalar's axis") {
  for (const int n : {1, 3, 257}) {
    CAPTURE(n);
    const int rows = 3;
    const auto hx = normal(static_cast<std::size_t>(rows * n), 1), hg = normal(static_cast<std::size_t>(n), 2),
               hb = normal(static_cast<std::size_t>(n), 3);
    Numbers layer, rms;
    for (int r = 0; r < rows; ++r) {
      double mean = 0, variance = 0, squares = 0;
      for (int i = 0; i < n; ++i) mean += double(hx[r * n + i]) / n, squares += double(hx[r * n + i]) * double(hx[r * n + i]) / n;
      for (int i = 0; i < n; ++i) variance += (hx[r * n + i] - mean) * (hx[r * n + i] - mean) / n;
      for (int i = 0; i < n; ++i) {
        layer.push_back((hx[r * n + i] - mean) / std::sqrt(variance + 1e-5) * double(hg[i]) + double(hb[i]));
        rms.push_back(hx[r * n + i] / std::sqrt(squares + 1e-6) * double(hg[i]));
      }
    }
    Program p;
    auto x = p.input("x", {rows, n}, hx);
    auto gamma = p.input("gamma", {n}, hg), beta = p.input("beta", {n}, hb);
    p.output("layer", tw::layer_norm(x, gamma, beta), layer);
    p.output("rms", tw::rms_norm(x, gamma), rms);
    p.check();
  }
}

}  // namespace graph_program
