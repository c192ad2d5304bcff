// Softmax, norms and cross entropy against double precision: rows of any length, of any rank, strides and types; gradients too.
#include <limits>

#include "tests/kernels/matrices.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

namespace {

const kernels::Options kInSteps{.configuration = kernels::Configuration{.bn = 16}};

/// f(row, result) over rows of n.
template <class F>
std::vector<double> by_rows(const std::vector<double>& x, std::size_t n, F f) {
  std::vector<double> y(x.size());
  for (std::size_t at = 0; at < x.size(); at += n) f(x.data() + at, y.data() + at, at / n);
  return y;
}
std::vector<double> softmax_of(const std::vector<double>& x, std::size_t n, bool logarithm) {
  return by_rows(x, n, [&](const double* in, double* out, std::size_t) {
    double most = -INFINITY, total = 0;
    for (std::size_t i = 0; i < n; ++i) most = std::max(most, in[i]);
    for (std::size_t i = 0; i < n; ++i) total += std::exp(in[i] - most);
    for (std::size_t i = 0; i < n; ++i) out[i] = logarithm ? in[i] - most - std::log(total) : std::exp(in[i] - most) / total;
  });
}

template <class T>
void check_softmax(tw::Device& device, std::int64_t rows, std::int64_t n, Placement placement, const kernels::Options& options = {}) {
  INFO(rows, " x ", n);
  Array<T, 2> x(device, {rows, n}, 1, placement, 3), y(device, {rows, n}, 2, placement), z(device, {rows, n}, 3);
  kernels::softmax(x.view(), y.view(), options);
  kernels::log_softmax(x.view(), z.view(), options);
  CHECK(error(y.values(), softmax_of(x.values(), static_cast<std::size_t>(n), false)) < epsilon<T>());
  CHECK(error(z.values(), softmax_of(x.values(), static_cast<std::size_t>(n), true)) < epsilon<T>());
  CHECK(y.gaps_untouched());
}

}  // namespace

TEST_CASE("softmax: lengths, strides and types") {
  on_every_device([](tw::Device& device) {
    for (std::int64_t n : {1, 2, 31, 100})
      check_softmax<float>(device, 3, n, Placement::dense), check_softmax<float>(device, 3, n, Placement::dense, kInSteps);
    check_softmax<float>(device, 5, 67, Placement::padded);
    check_softmax<tw::f16>(device, 5, 67, Placement::reversed);
    check_softmax<tw::bf16>(device, 5, 67, Placement::dense, kInSteps);
    check_softmax<double>(device, 5, 67, Placement::dense);
  });
  tw::Device cpu = tw::Device::open("cpu");
  check_softmax<float>(cpu, 2, 20001, Placement::dense);
}

TEST_CASE("softmax: any rank, and infinities") {
  on_every_device([](tw::Device& device) {
    Array<float, 1> x1(device, {37}, 1), y1(device, {37}, 2);
    kernels::softmax(x1.view(), y1.view());
    CHECK(error(y1.values(), softmax_of(x1.values(), 37, false)) < 2e-6);
    Array<float, 4> x4(device, {2, 3, 5, 19}, 1, Placement::reversed), y4(device, {2, 3, 5, 19}, 2, Placement::padded);
    kernels::softmax(x4.view(), y4.view());
    CHECK(error(y4.values(), softmax_of(x4.values(), 19, false)) < 2e-6);
    CHECK(y4.gaps_untouched());

    std::vector<float> values(80, -INFINITY);
    values[0] = 1, values[39] = 2, values[41] = std::numeric_limits<float>::quiet_NaN();
    auto x = device.upload(values), y = device.allocate<float>(80);
    for (const kernels::Options& options : {kernels::Options(), kInSteps}) {
      kernels::softmax(tw::view(x, {2, 40}), tw::view(y, {2, 40}), options);
      const auto got = y.download();
      CHECK(got[0] == doctest::Approx(1 / (1 + std::exp(1.0))));
      CHECK(got[39] == doctest::Approx(1 / (1 + std::exp(-1.0))));
      CHECK(got[20] == 0.0f);
      for (std::size_t i = 40; i < 80; ++i) CHECK(std::isnan(got[i]));
    }
  });
}

// x - (max + log(sum)) is rounded as the maximum is: the result of a row far from 0 had the error of its mean.
template <class T>
void check_far_rows(tw::Device& device, double mean, std::int64_t n, const kernels::Options& options) {
  INFO(device.name(), ", mean ", mean, ", ", n, " elements");
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<T> values(static_cast<std::size_t>(3 * n));
  for (T& v : values) v = static_cast<T>(static_cast<float>(mean + normal(random)));
  std::vector<double> exact(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) exact[i] = static_cast<double>(values[i]);
  const std::vector<double> logs = softmax_of(exact, static_cast<std::size_t>(n), true);
  const std::vector<int> target{0, static_cast<int>(n / 2), static_cast<int>(n - 1)};
  auto x = device.upload(values), y = device.allocate<T>(values.size());
  auto targets = device.upload(target);
  auto losses = device.allocate<double>(3);
  kernels::log_softmax(tw::view(x, {3, n}), tw::view(y, {3, n}), options);
  kernels::cross_entropy(tw::view(x, {3, n}), tw::view(targets, {3}), tw::view(losses, {3}), {}, options);
  const std::vector<T> got = y.download();
  CHECK(error(std::vector<double>(got.begin(), got.end()), logs) < epsilon<T>());
  std::vector<double> wanted;
  for (std::size_t row = 0; row < 3; ++row)
    wanted.push_back(-logs[row * static_cast<std::size_t>(n) + static_cast<std::size_t>(target[row])]);
  CHECK(error(losses.download(), wanted) < std::min(epsilon<T>(), 2e-6));
}

TEST_CASE("log_softmax, cross_entropy: rows far from 0") {
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    tw::Device device = tw::Device::open(name);
    for (const kernels::Options& options : {kernels::Options(), kInSteps}) {
      for (double mean : {1e4, -1e6}) check_far_rows<float>(device, mean, 150, options), check_far_rows<double>(device, mean, 150, options);
      check_far_rows<tw::f16>(device, 3e4, 150, options);
      check_far_rows<tw::bf16>(device, 1e6, 150, options);
    }
  }
  tw::Device cpu = tw::Device::open("cpu");
  check_far_rows<float>(cpu, 1e4, 40001, {});
  check_far_rows<tw::bf16>(cpu, 1e4, 40001, {});
}

TEST_CASE("softmax_backward: against the derivative") {
  on_every_device([](tw::Device& device) {
    for (const kernels::Options& options : {kernels::Options(), kInSteps}) {
      Array<float, 3> y(device, {2, 3, 41}, 1), dy(device, {2, 3, 41}, 2, Placement::padded), dx(device, {2, 3, 41}, 3);
      kernels::softmax_backward(y.view(), dy.view(), dx.view(), options);
      const auto g = dy.values();
      const auto want = by_rows(y.values(), 41, [&](const double* in, double* out, std::size_t row) {
        double total = 0;
        for (std::size_t i = 0; i < 41; ++i) total += in[i] * g[row * 41 + i];
        for (std::size_t i = 0; i < 41; ++i) out[i] = in[i] * (g[row * 41 + i] - total);
      });
      CHECK(error(dx.values(), want) < 2e-6);
    }
  });
}

namespace {

struct Norm {
  std::vector<double> y, mean, rstd, dx, dgamma, dbeta;
};
Norm norm_of(const std::vector<double>& x, const std::vector<double>& gamma, const std::vector<double>& beta, const std::vector<double>& dy,
             double eps, bool centered) {
  const std::size_t n = gamma.size();
  Norm r{std::vector<double>(x.size()), {}, {}, std::vector<double>(x.size()), std::vector<double>(n), std::vector<double>(n)};
  for (std::size_t row = 0; row * n < x.size(); ++row) {
    const double* in = x.data() + row * n;
    double mean = 0, variance = 0, sum_g = 0, sum_gh = 0;
    for (std::size_t i = 0; i < n && centered; ++i) mean += in[i] / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i) variance += (in[i] - mean) * (in[i] - mean) / static_cast<double>(n);
    const double rstd = 1 / std::sqrt(variance + eps);
    r.mean.push_back(mean), r.rstd.push_back(rstd);
    for (std::size_t i = 0; i < n; ++i) {
      const double h = (in[i] - mean) * rstd, d = dy[row * n + i];
      r.y[row * n + i] = h * gamma[i] + beta[i];
      r.dgamma[i] += d * h, r.dbeta[i] += d;
      sum_g += d * gamma[i] / static_cast<double>(n), sum_gh += d * gamma[i] * h / static_cast<double>(n);
    }
    if (!centered) sum_g = 0;
    for (std::size_t i = 0; i < n; ++i) r.dx[row * n + i] = rstd * (dy[row * n + i] * gamma[i] - sum_g - (in[i] - mean) * rstd * sum_gh);
  }
  return r;
}

template <class T>
void check_norms(tw::Device& device, std::int64_t n, Placement placement, const kernels::Options& options = {}) {
  INFO("rows of ", n);
  using S = kernels::Accumulator<T>;
  Array<T, 3> x(device, {3, 13, n}, 1, placement), y(device, {3, 13, n}, 2, placement), dy(device, {3, 13, n}, 3),
      dx(device, {3, 13, n}, 4);
  Array<T, 1> gamma(device, {n}, 5), beta(device, {n}, 6), dgamma(device, {n}, 7), dbeta(device, {n}, 8);
  Array<S, 2> mean(device, {3, 13}, 9, placement), rstd(device, {3, 13}, 10);
  const double tolerance = 4 * epsilon<T>();
  const std::vector<double> none(static_cast<std::size_t>(n));
  kernels::layer_norm(x.view(), gamma.view(), beta.view(), y.view(), 1e-3, mean.view(), rstd.view(), options);
  Norm want = norm_of(x.values(), gamma.values(), beta.values(), dy.values(), 1e-3, true);
  CHECK(error(y.values(), want.y) < tolerance);
  CHECK(error(mean.values(), want.mean) < 4 * epsilon<S>());
  CHECK(error(rstd.values(), want.rstd) < 4 * epsilon<S>());
  CHECK(y.gaps_untouched());
  kernels::layer_norm_backward(x.view(), gamma.view(), mean.view(), rstd.view(), dy.view(), dx.view(), dgamma.view(), dbeta.view(),
                               options);
  if (n > 1) CHECK(error(dx.values(), want.dx) < tolerance);  // in a row of 1, it is 0 except for rounding errors
  CHECK(error(dgamma.values(), want.dgamma) < tolerance);
  CHECK(error(dbeta.values(), want.dbeta) < tolerance);

  kernels::rms_norm(x.view(), gamma.view(), y.view(), 1e-3, rstd.view(), options);
  want = norm_of(x.values(), gamma.values(), none, dy.values(), 1e-3, false);
  CHECK(error(y.values(), want.y) < tolerance);
  CHECK(error(rstd.values(), want.rstd) < 4 * epsilon<S>());
  kernels::rms_norm_backward(x.view(), gamma.view(), rstd.view(), dy.view(), dx.view(), dgamma.view(), options);
  CHECK(error(dx.values(), want.dx) < tolerance);
  CHECK(error(dgamma.values(), want.dgamma) < tolerance);
}

}  // namespace

TEST_CASE("layer_norm and rms_norm: results, moments and gradients") {
  on_every_device([](tw::Device& device) {
    check_norms<float>(device, 1, Placement::dense);
    check_norms<float>(device, 67, Placement::padded);
    check_norms<float>(device, 67, Placement::dense, kInSteps);
    check_norms<tw::f16>(device, 40, Placement::reversed);
    check_norms<double>(device, 33, Placement::dense);
  });
}

TEST_CASE("layer_norm: without weights, and a variance far below the mean") {
  tw::Device device = tw::Device::open("cpu");
  std::vector<float> values(64);
  for (std::size_t i = 0; i < 64; ++i) values[i] = 4096 + static_cast<float>(i % 2);
  auto x = device.upload(values), y = device.allocate<float>(64);
  kernels::layer_norm(tw::view(x, {1, 64}), tw::View<float, 1>(), tw::View<float, 1>(), tw::view(y, {1, 64}), 0.0);
  const auto got = y.download();
  for (std::size_t i = 0; i < 64; ++i) CHECK(got[i] == doctest::Approx(i % 2 ? 1.0 : -1.0));
}

TEST_CASE("cross_entropy: losses, ignored rows and gradients") {
  on_every_device([](tw::Device& device) {
    for (const kernels::Options& options : {kernels::Options(), kInSteps}) {
      Array<float, 2> x(device, {5, 53}, 1, Placement::padded), dx(device, {5, 53}, 2);
      Array<float, 1> losses(device, {5}, 3), lse(device, {5}, 4), dlosses(device, {5}, 5);
      const std::vector<int> target{7, -1, 52, 0, 53};
      auto targets = device.upload(target);
      kernels::cross_entropy(x.view(), tw::view(targets, {5}), losses.view(), lse.view(), options);
      kernels::cross_entropy_backward(x.view(), tw::view(targets, {5}), lse.view(), dlosses.view(), dx.view(), options);
      const auto logs = softmax_of(x.values(), 53, true), got = losses.values(), gradient = dx.values(), d = dlosses.values(),
                 in = x.values();
      CHECK(got[1] == 0);
      CHECK(std::isnan(got[4]));  // no index of the row
      for (const std::size_t row : std::array<std::size_t, 3>{0, 2, 3}) {
        CHECK(got[row] == doctest::Approx(-logs[row * 53 + static_cast<std::size_t>(target[row])]));
        CHECK(lse.values()[row] == doctest::Approx(in[row * 53] - logs[row * 53]));
        for (std::size_t i = 0; i < 53; ++i)
          CHECK(std::abs(gradient[row * 53 + i] - (std::exp(logs[row * 53 + i]) - (static_cast<int>(i) == target[row])) * d[row]) < 1e-6);
      }
      for (std::size_t i = 0; i < 53; ++i) CHECK(gradient[53 + i] == 0);
    }
  });
}
