// dot for every type, in batches and at every precision; matrix products as users write them.
#include "tests/programs/programs.h"

namespace {

using namespace programs;
using tw::arange, tw::column, tw::row, tw::load, tw::store;

template <class T>
using Acc = std::conditional_t<std::same_as<T, std::int8_t>, std::int32_t, std::conditional_t<std::same_as<T, double>, double, float>>;

template <class T>
void one_dot(tw::Ptr<const T> a, tw::Ptr<const T> b, tw::Ptr<const Acc<T>> c, tw::Ptr<Acc<T>> out, std::array<int, 3> mnk,
             tw::Precision precision) {
  const auto [m, n, k] = mnk;
  auto ta = load(a + column(arange(0, m)) * k + row(arange(0, k)));
  auto tb = load(b + column(arange(0, k)) * n + row(arange(0, n)));
  auto at = column(arange(0, m)) * n + row(arange(0, n));
  store(out + at, tw::dot(ta, tb, load(c + at), precision));
  store(out + m * n + at, tw::dot(ta, tb, {}, precision));
}

template <class T>
void check_dot(tw::Device& device, double tolerance, tw::Precision precision = tw::Precision::standard) {
  using A = Acc<T>;
  const tw::Kernel kernel("one_dot", one_dot<T>);
  for (const std::array<int, 3>& mnk : {std::array{64, 32, 128}, {1, 8, 4}, {2, 1, 64}, {32, 64, 1}}) {
    const auto [m, n, k] = mnk;
    const auto a = numbers<T>(m * k, 1, std::integral<T> ? 60 : 1), b = numbers<T>(k * n, 2, std::integral<T> ? 60 : 1);
    const auto c = numbers<A>(m * n, 3, std::integral<T> ? 1000 : 1);
    auto out = device.allocate<A>(2 * m * n);
    kernel({.grid = 1}, device.upload(a), device.upload(b), device.upload(c), out, mnk, precision);
    std::vector<double> want(2 * m * n);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int l = 0; l < k; ++l) sum += as_double(a[i * k + l]) * as_double(b[l * n + j]);
        want[i * n + j] = sum + c[i * n + j], want[m * n + i * n + j] = sum;
      }
    check_close("dot", out.download(), want, tolerance, tolerance * std::sqrt(k) * 2);
  }
}

/// C = A B for matrices of any size, tiles in grouped order, the loop over K masked at its end.
template <class T>
void matmul(tw::Ptr<const T> a, tw::Ptr<const T> b, tw::Ptr<float> c, tw::I32 m, tw::I32 n, tw::I32 k, tw::I64 stride_am, tw::I64 stride_ak,
            std::array<int, 3> block) {
  const auto [bm, bn, bk] = block;
  auto [pm, pn] = tw::grouped_order(tw::program_id(0), tw::cdiv(m, bm), tw::cdiv(n, bn), 3);
  auto rm = pm * bm + arange(0, bm), rn = pn * bn + arange(0, bn), rk = arange(0, bk);
  auto pa = a + column(rm) * stride_am + row(rk) * stride_ak;
  auto pb = b + column(rk) * n + row(rn);
  auto acc = tw::zeros<float>({bm, bn});
  for (auto l : tw::range(0, tw::cdiv(k, bk))) {
    auto left = k - l * bk;
    auto ta = load(pa, column(rm) < m && row(rk) < left, 0);
    auto tb = load(pb, column(rk) < left && row(rn) < n);
    acc = tw::dot(ta, tb, acc);
    pa += bk * stride_ak;
    pb += bk * n;
  }
  store(c + column(rm) * n + row(rn), acc, column(rm) < m && row(rn) < n);
}

/// C = A B, where a table says which page of 16 rows of B is where, or which row: row i of B is at table[i / page_rows] * page_rows + i %
/// page_rows of the pool.
template <class T>
void matmul_by_table(tw::Ptr<const T> a, tw::Ptr<const T> pool, tw::Ptr<const std::int32_t> table, tw::Ptr<float> c, tw::I32 k,
                     std::array<int, 4> shape) {
  const auto [m, n, page_rows, stages] = shape;
  auto rm = arange(0, m), rn = arange(0, n), rk = arange(0, 16);
  auto acc = tw::zeros<float>({m, n});
  for (auto l : tw::range(0, k, 16, {.num_stages = stages})) {
    auto exists = l + rk < k;
    auto ta = load(a + column(rm) * k + row(l + rk), row(exists));
    auto rows = page_rows == 1 ? load(table + l + rk, exists, -1) : load(table + l / 16) * 16 + rk;
    acc = tw::dot(ta, load(pool + column(rows) * n + row(rn), column(page_rows == 1 ? rows >= 0 : exists)), acc);
  }
  store(c + column(rm) * n + row(rn), acc);
}

}  // namespace

TEST_CASE("linear_algebra: dot of every type and many shapes") {
  on_every_device([](tw::Device& device) {
    check_dot<tw::f16>(device, 1e-5);
    check_dot<tw::bf16>(device, 1e-5);
    check_dot<tw::f8e4m3>(device, 1e-5);
    check_dot<tw::f8e5m2>(device, 1e-5);
    check_dot<std::int8_t>(device, 0);
    check_dot<double>(device, 1e-14);
    check_dot<float>(device, f32_dot_tolerance(device));
    for (tw::Precision p : {tw::Precision::tf32, tw::Precision::tf32x3, tw::Precision::bf16x3, tw::Precision::ieee})
      check_dot<float>(device, p == tw::Precision::tf32 ? 2e-3 : 1e-4, p);
  });
}

TEST_CASE("linear_algebra: dot in batches") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("batch", [](tw::Ptr<const tw::f16> a, tw::Ptr<const tw::f16> b, tw::Ptr<float> c, std::array<int, 4> s) {
      const auto [z, m, n, k] = s;
      auto ta = tw::reshape(load(a + arange(0, z * m * k)), {z, m, k});
      auto tb = tw::reshape(load(b + arange(0, z * k * n)), {z, n, k});
      auto tc = tw::dot(ta, tw::transpose(tb), tw::full<float>({z, m, n}, 1));
      store(c + arange(0, z * m * n), tw::ravel(tc));
    });
    for (const std::array<int, 4>& s : {std::array{4, 16, 32, 16}, {8, 2, 4, 64}, {1, 32, 32, 32}}) {
      const auto [z, m, n, k] = s;
      const auto a = numbers<tw::f16>(z * m * k, 1), b = numbers<tw::f16>(z * n * k, 2);
      auto c = device.allocate<float>(z * m * n);
      kernel({.grid = 1}, device.upload(a), device.upload(b), c, s);
      std::vector<double> want;
      for (int q = 0; q < z; ++q)
        for (int i = 0; i < m; ++i)
          for (int j = 0; j < n; ++j) {
            double sum = 1;
            for (int l = 0; l < k; ++l) sum += as_double(a[(q * m + i) * k + l]) * as_double(b[(q * n + j) * k + l]);
            want.push_back(sum);
          }
      check_close("batch", c.download(), want, 1e-5, 1e-4);
    }
  });
}

TEST_CASE("linear_algebra: matrix products of odd sizes, of row- and column-major matrices") {
  auto check = []<class T>(tw::Device& device, T) {
    const tw::Kernel kernel("matmul", matmul<T>);
    for (const auto& [m, n, k, transposed] : {std::tuple{70, 33, 45, false}, {128, 64, 96, true}, {1, 100, 200, false}, {17, 1, 3, true}}) {
      const auto a = numbers<T>(m * k, 1), b = numbers<T>(k * n, 2);
      auto c = device.upload(std::vector<float>(m * n, NAN));
      const std::int64_t row_stride = transposed ? 1 : k, col_stride = transposed ? m : 1;
      kernel({.grid = tw::cdiv(m, 32) * tw::cdiv(n, 32)}, device.upload(a), device.upload(b), c, m, n, k, row_stride, col_stride,
             std::array{32, 32, 16});
      std::vector<double> want;
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
          double sum = 0;
          for (int l = 0; l < k; ++l) sum += as_double(a[i * row_stride + l * col_stride]) * as_double(b[l * n + j]);
          want.push_back(sum);
        }
      const double tolerance = std::same_as<T, float> ? f32_dot_tolerance(device) : 1e-5;
      check_close("matmul", c.download(), want, tolerance, tolerance * std::sqrt(k) * 2);
    }
  };
  on_every_device([&](tw::Device& device) {
    check(device, float());
    check(device, tw::bf16());
  });
}

TEST_CASE("linear_algebra: two products in one loop, the first transposed") {
  // y = relu(x w1ᵀ) w2, a tile of hidden units at a time.
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("mlp", [](tw::View<const float, 2> x, tw::View<const float, 2> w1, tw::View<const float, 2> w2,
                                      tw::View<float, 2> y, int bm, int bh, int d) {
      auto i = tw::program_id(0) * bm;
      auto tx = x.load({i, 0}, {bm, d});
      auto acc = tw::zeros<float>({bm, d});
      for (auto h : tw::range(0, w1.extent(0), bh)) {
        auto hidden = tw::relu(tw::dot(tx, tw::transpose(w1.load({h, 0}, {bh, d}))));
        acc += tw::dot(hidden, w2.load({h, 0}, {bh, d}));
      }
      y.store({i, 0}, acc);
    });
    const int m = 50, h = 70, d = 24;  // d: not a power of two, tiles of 32
    const auto x = numbers<float>(m * d, 1), w1 = numbers<float>(h * d, 2), w2 = numbers<float>(h * d, 3);
    const auto bx = device.upload(x), b1 = device.upload(w1), b2 = device.upload(w2);
    auto out = device.allocate<float>(m * d);
    kernel({.grid = tw::cdiv(m, 16)}, tw::view(bx, {m, d}), tw::view(b1, {h, d}), tw::view(b2, {h, d}), tw::view(out, {m, d}), 16, 32, 32);
    std::vector<double> want(m * d);
    for (int i = 0; i < m; ++i)
      for (int u = 0; u < h; ++u) {
        double hidden = 0;
        for (int l = 0; l < d; ++l) hidden += double(x[i * d + l]) * w1[u * d + l];
        for (int l = 0; l < d; ++l) want[i * d + l] += std::max(hidden, 0.0) * w2[u * d + l];
      }
    const double tolerance = f32_dot_tolerance(device);
    check_close("mlp", out.download(), want, tolerance, tolerance * 100);  // sums of 70 products of about 5
  });
}

TEST_CASE("linear_algebra: products of pages and rows that a table names") {
  auto check = []<class T>(tw::Device& device, T) {
    const tw::Kernel kernel("matmul_by_table", matmul_by_table<T>);
    const int m = 32, n = 64, pool_rows = 256;
    const auto pool = numbers<T>(pool_rows * n, 2);
    for (const int k : {0, 5, 16, 32, 43, 100})
      for (const int page_rows : {1, 16})
        for (const int stages : {2, 3, 4}) {
          std::vector<std::int32_t> table(tw::cdiv(k, page_rows) + 1, 1 << 28);  // the last one must not be used
          for (int i = 0; i + 1 < static_cast<int>(table.size()); ++i) table[i] = (i * 37 + 5) % (pool_rows / page_rows);
          const auto a = numbers<T>(m * k + 1, 1);
          auto c = device.upload(std::vector<float>(m * n, NAN));
          kernel({.grid = 1}, device.upload(a), device.upload(pool), device.upload(table), c, k, std::array{m, n, page_rows, stages});
          std::vector<double> want(m * n);
          for (int i = 0; i < m; ++i)
            for (int l = 0; l < k; ++l) {
              const int row = table[l / page_rows] * page_rows + l % page_rows;
              for (int j = 0; j < n; ++j) want[i * n + j] += as_double(a[i * k + l]) * as_double(pool[row * n + j]);
            }
          const double tolerance = std::same_as<T, float> ? f32_dot_tolerance(device) : 1e-5;
          check_close("product", c.download(), want, tolerance, tolerance * std::sqrt(k + 1) * 2);
        }
  };
  on_every_device([&](tw::Device& device) {
    check(device, float());
    check(device, tw::f16());
  });
}
