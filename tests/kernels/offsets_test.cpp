// Rows at an odd element offset: memory that is aligned to its elements and to nothing more, with all that may be left out left out.
#include "tests/kernels/matrices.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

namespace {

/// `count` random elements from element 1 of an allocation on.
template <class T>
struct Shifted {
  tw::Buffer<T> memory, rows;
  Shifted(tw::Device& device, std::int64_t count, unsigned seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal(0, 1);
    std::vector<T> values;
    for (std::int64_t i = 0; i <= count; ++i) values.push_back(T(static_cast<float>(normal(engine))));
    memory = device.upload(values);
    rows = device.wrap(memory.data() + 1, count);
  }
  tw::View<T, 2> matrix(std::int64_t m, std::int64_t n) { return tw::view(rows, {m, n}); }
  std::vector<double> values() const {
    std::vector<double> all;
    for (const T& x : rows.download()) all.push_back(number(x));
    return all;
  }
};

/// Calls f(type) for the types that are smaller than their sums, and for one that is not.
template <class F>
void for_each_type(F f) {
  on_every_device([&](tw::Device& device) {
    CAPTURE(device.name());
    f(tw::f16(), device);
    f(tw::bf16(), device);
    f(float(), device);
  });
}

constexpr std::int64_t kRows = 5, kColumns = 33;

}  // namespace

TEST_CASE("offsets: norms and their gradients") {
  for_each_type([]<class T>(T, tw::Device& device) {
    Shifted<T> x(device, kRows * kColumns, 1), y(device, kRows * kColumns, 2), gamma(device, kColumns, 3), dy(device, kRows * kColumns, 4),
        dx(device, kRows * kColumns, 5);
    const auto in = x.matrix(kRows, kColumns), out = y.matrix(kRows, kColumns);
    const std::vector<double> values = x.values(), weights = gamma.values(), gradient = dy.values();
    std::vector<double> rms, centered, rstds, rms_dx;
    for (std::int64_t i = 0; i < kRows; ++i) {
      const double* row = values.data() + i * kColumns;
      double sum = 0, squares = 0, variance = 0, dot = 0;
      for (std::int64_t j = 0; j < kColumns; ++j) sum += row[j], squares += row[j] * row[j];
      for (std::int64_t j = 0; j < kColumns; ++j) variance += std::pow(row[j] - sum / kColumns, 2) / kColumns;
      const double rstd = 1 / std::sqrt(squares / kColumns + 1e-5);
      rstds.push_back(rstd);
      for (std::int64_t j = 0; j < kColumns; ++j) {
        rms.push_back(row[j] * rstd * weights[static_cast<std::size_t>(j)]);
        centered.push_back((row[j] - sum / kColumns) / std::sqrt(variance + 1e-5));
        dot += gradient[static_cast<std::size_t>(i * kColumns + j)] * row[j] * rstd / kColumns;
      }
      for (std::int64_t j = 0; j < kColumns; ++j)
        rms_dx.push_back(rstd * (gradient[static_cast<std::size_t>(i * kColumns + j)] - row[j] * rstd * dot));
    }
    kernels::rms_norm(in, gamma.rows, out, 1e-5);
    CHECK(error(y.values(), rms) < 2 * epsilon<T>());
    kernels::layer_norm(in, tw::View<const T, 1>(), tw::View<const T, 1>(), out, 1e-5);
    CHECK(error(y.values(), centered) < 2 * epsilon<T>());
    const auto numbers = device.upload(std::vector<float>(rstds.begin(), rstds.end()));
    kernels::rms_norm_backward(in, tw::View<const T, 1>(), numbers, dy.matrix(kRows, kColumns), dx.matrix(kRows, kColumns),
                               tw::View<T, 1>());
    CHECK(error(dx.values(), rms_dx) < 2 * epsilon<T>());
  });
}

TEST_CASE("offsets: cross entropy, sorts and scans") {
  for_each_type([]<class T>(T, tw::Device& device) {
    Shifted<T> x(device, kRows * kColumns, 1), losses(device, kRows, 2);
    const auto targets = device.upload(std::vector<int>{3, 0, 32, 7, 7});
    kernels::cross_entropy(x.matrix(kRows, kColumns), targets, losses.rows);
    const std::vector<double> values = x.values();
    const std::vector<int> chosen = targets.download();
    std::vector<double> want;
    for (std::int64_t i = 0; i < kRows; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < kColumns; ++j) sum += std::exp(values[static_cast<std::size_t>(i * kColumns + j)]);
      want.push_back(std::log(sum) - values[static_cast<std::size_t>(i * kColumns + chosen[static_cast<std::size_t>(i)])]);
    }
    CHECK(error(losses.values(), want) < 2 * epsilon<T>());

    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    kernels::sort(x.rows);
    CHECK(x.values() == sorted);
    kernels::scan(losses.rows, losses.rows, [](auto a, auto b) { return tw::maximum(a, b); }, -INFINITY);
    CHECK(losses.values().back() == doctest::Approx(*std::max_element(want.begin(), want.end())).epsilon(2 * epsilon<T>()));
  });
}

TEST_CASE("offsets: attention") {
  for_each_type([]<class T>(T, tw::Device& device) {
    constexpr std::int64_t kLength = 19, kDepth = 16;
    Shifted<T> q(device, kLength * kDepth, 1), k(device, kLength * kDepth, 2), v(device, kLength * kDepth, 3),
        out(device, kLength * kDepth, 4);
    const auto view = [&](Shifted<T>& x) { return tw::view(x.rows, {1, 1, kLength, kDepth}); };
    kernels::attention(view(q), view(k), view(v), view(out), {.causal = true});
    const std::vector<double> qs = q.values(), ks = k.values(), vs = v.values();
    std::vector<double> want(static_cast<std::size_t>(kLength * kDepth));
    for (std::int64_t i = 0; i < kLength; ++i) {
      double total = 0;
      for (std::int64_t j = 0; j <= i; ++j) {
        double score = 0;
        for (std::int64_t d = 0; d < kDepth; ++d)
          score += qs[static_cast<std::size_t>(i * kDepth + d)] * ks[static_cast<std::size_t>(j * kDepth + d)] / 4;
        total += std::exp(score);
        for (std::int64_t d = 0; d < kDepth; ++d)
          want[static_cast<std::size_t>(i * kDepth + d)] += std::exp(score) * vs[static_cast<std::size_t>(j * kDepth + d)];
      }
      for (std::int64_t d = 0; d < kDepth; ++d) want[static_cast<std::size_t>(i * kDepth + d)] /= total;
    }
    CHECK(error(out.values(), want) < std::max(4 * epsilon<T>(), is_gpu(device) ? 2e-3 : 0.0));
  });
}
