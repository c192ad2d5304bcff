// Reductions along every axis, their edge cases, and users' own combine functions.
#include <algorithm>

#include "tests/programs/programs.h"

namespace {

using namespace programs;
using tw::arange, tw::column, tw::row, tw::load, tw::store;

struct Cube {
  std::array<int, 3> shape;
  int axis;
  bool keep;
};

/// All reductions of numbers along one axis; out: 8 rows of the result.
template <class T>
void reductions(tw::Ptr<const T> x, tw::Ptr<T> out, tw::Ptr<std::int32_t> index, Cube c) {
  const auto [a, b, d] = c.shape;
  auto t = tw::reshape(load(x + arange(0, a * b * d)), {a, b, d});
  const int n = a * b * d / c.shape[c.axis];
  auto at = arange(0, n);
  auto flat = [&](const auto& r) {
    CHECK(r.rank() == (c.keep ? 3 : 2));
    if (c.keep) CHECK(r.extent(c.axis) == 1);
    return tw::ravel(r);
  };
  store(out + at, flat(tw::sum(t, c.axis, c.keep)));
  store(out + n + at, flat(tw::prod(t, c.axis, c.keep)));
  store(out + 2 * n + at, flat(tw::max(t, c.axis - 3, c.keep)));
  store(out + 3 * n + at, flat(tw::min(t, c.axis, c.keep)));
  store(index + at, flat(tw::argmax(t, c.axis, c.keep)));
  store(index + n + at, flat(tw::argmin(t, c.axis, c.keep)));
  if constexpr (std::integral<T>) store(out + 4 * n + at, flat(tw::xor_sum(t, c.axis, c.keep)));
  // Over all elements.
  store(out + 5 * n, tw::sum(t));
  store(out + 5 * n + 1, tw::max(t));
  store(out + 5 * n + 2, tw::min(t));
  store(index + 2 * n, tw::argmax(t));
  store(index + 2 * n + 1, tw::argmin(t));
}

template <class T>
void check_reductions(tw::Device& device, std::initializer_list<std::array<int, 3>> shapes) {
  INFO("type ", typeid(T).name());
  const tw::Kernel kernel("reductions", reductions<T>);
  for (const std::array<int, 3>& shape : shapes)
    for (int axis = 0; axis < 3; ++axis) {
      const int count = shape[0] * shape[1] * shape[2], k = shape[axis], n = count / k;
      std::vector<T> x = numbers<T>(count, 3 + axis, std::integral<T> ? 20 : 1);
      auto out = device.allocate<T>(5 * n + 3);
      out.fill(T(0));
      auto index = device.allocate<std::int32_t>(2 * n + 2);
      kernel({.grid = 1}, device.upload(x), out, index, Cube{shape, axis, axis == 1});
      const int inner = axis == 2 ? 1 : axis == 1 ? shape[2] : shape[1] * shape[2];
      std::vector<double> sum, prod;
      std::vector<T> most, least, xors;
      std::vector<std::int32_t> first_most, first_least;
      auto scan = [&](int start, int stride, int length) {
        double s = 0, p = 1;
        std::uint64_t ws = 0, wp = 1, wx = 0;
        int im = 0, il = 0;
        for (int i = 0; i < length; ++i) {
          const T v = x[start + i * stride];
          s += as_double(v), p *= as_double(v);
          if constexpr (std::integral<T>) ws += v, wp *= static_cast<std::uint64_t>(v), wx ^= v;
          if (as_double(v) > as_double(x[start + im * stride])) im = i;
          if (as_double(v) < as_double(x[start + il * stride])) il = i;
        }
        if constexpr (std::integral<T>) s = as_double(static_cast<T>(ws)), p = as_double(static_cast<T>(wp));
        sum.push_back(s), prod.push_back(p);
        if constexpr (std::integral<T>) xors.push_back(static_cast<T>(wx));
        most.push_back(x[start + im * stride]), least.push_back(x[start + il * stride]);
        first_most.push_back(im), first_least.push_back(il);
      };
      for (int o = 0; o < n / inner; ++o)
        for (int i = 0; i < inner; ++i) scan(o * k * inner + i, inner, k);
      scan(0, 1, count);
      const auto got = out.download();
      auto part = [&](int from, int size) { return std::vector<T>(got.begin() + from, got.begin() + from + size); };
      const double eps = std::integral<T> ? 0 : sizeof(T) == 2 ? 8e-3 : sizeof(T) == 4 ? 1e-5 : 1e-13;
      auto body = [&](auto v) {
        v.resize(n);
        return v;
      };
      check_close("sum", part(0, n), body(sum), eps, eps * 4);
      check_close("prod", part(n, n), body(prod), eps, eps);
      check_same("max", part(2 * n, n), body(most));
      check_same("min", part(3 * n, n), body(least));
      if constexpr (std::integral<T>) check_same("xor_sum", part(4 * n, n), body(xors));
      check_close("of all", part(5 * n, 3), {sum[n], as_double(most[n]), as_double(least[n])}, eps, eps * 8);
      std::vector<std::int32_t> want = body(first_most), lows = body(first_least);
      want.insert(want.end(), lows.begin(), lows.end());
      want.insert(want.end(), {first_most[n], first_least[n]});
      check_same("argmax, argmin", index.download(), want);
    }
}

using Line = std::tuple<tw::I32, tw::I32>;

}  // namespace

TEST_CASE("reductions: along each axis, with and without keep_dims, of all, for every type") {
  on_every_device([](tw::Device& device) {
    check_reductions<std::int8_t>(device, {{4, 8, 32}});
    check_reductions<std::int16_t>(device, {{4, 8, 32}});
    check_reductions<std::int32_t>(device, {{4, 8, 32}, {32, 2, 4}, {1, 256, 1}});
    check_reductions<std::int64_t>(device, {{4, 8, 32}});
    check_reductions<std::uint8_t>(device, {{4, 8, 32}});
    check_reductions<std::uint16_t>(device, {{4, 8, 32}});
    check_reductions<std::uint32_t>(device, {{4, 8, 32}});
    check_reductions<std::uint64_t>(device, {{4, 8, 32}});
    check_reductions<tw::f16>(device, {{4, 8, 32}, {32, 2, 4}, {1, 256, 1}});
    check_reductions<tw::bf16>(device, {{4, 8, 32}});
    check_reductions<float>(device, {{4, 8, 32}, {32, 2, 4}, {1, 256, 1}});
    check_reductions<double>(device, {{4, 8, 32}});
  });
}

TEST_CASE("reductions: NaN, zeros of both signs, ties") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("edges", [](tw::Ptr<const float> x, tw::Ptr<float> values, tw::Ptr<std::int32_t> index, int rows, int cols) {
      auto r = arange(0, rows);
      auto t = load(x + column(r) * cols + row(arange(0, cols)));
      store(values + r, tw::max(t, 1));
      store(values + rows + r, tw::min(t, 1));
      store(index + r, tw::argmax(t, 1));
      store(index + rows + r, tw::argmin(t, 1));
      store(index + 2 * rows + r, tw::argmax(tw::transpose(t), 0));
    });
    const float n = NAN, i = INFINITY;
    const std::vector<std::vector<float>> x{{1, n, 3, n, 5, 0, 0, 0},   {0.f, -0.f, 0, 0, -0.f, 0, 0, 0}, {-0.f, 0.f, -0.f, 0, 0, 0, 0, 0},
                                            {i, i, -i, -i, 1, 2, 3, i}, {-i, -i, -i, -i, -i, -i, -i, -i}, {2, 7, 7, 1, 7, 1, 1, 2},
                                            {-i, n, i, 1, 2, 3, 4, 5},  {n, n, n, n, n, n, n, n}};
    std::vector<float> flat;
    for (const auto& line : x) flat.insert(flat.end(), line.begin(), line.end());
    auto values = device.allocate<float>(16);
    auto index = device.allocate<std::int32_t>(24);
    kernel({.grid = 1}, device.upload(flat), values, index, 8, 8);
    check_close("values", values.download(), {n, 0, 0, i, -i, 7, n, n, n, 0, 0, -i, -i, 1, n, n}, 0);
    check_same("index", index.download(),
               std::vector<std::int32_t>{1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 2, 0, 3, 1, 0, 1, 0, 0, 0, 0, 1, 1, 0});
  });
}

TEST_CASE("reductions: any and all") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("truth", [](tw::Ptr<const bool> x, tw::Ptr<bool> out) {
      auto t = load(x + column(arange(0, 16)) * 64 + row(arange(0, 64)));
      store(out + arange(0, 16), tw::any(t, 1));
      store(out + 16 + arange(0, 16), tw::all(t, 1));
      store(out + 32 + row(arange(0, 64)), tw::any(t, 0, true));
      store(out + 96 + arange(0, 64), tw::all(t, -2));
      store(out + 160, tw::any(t));
      store(out + 161, tw::all(t));
    });
    std::vector<bool> x(1024), want(162);
    for (int i = 0; i < 1024; ++i) x[i] = i / 64 == 3 || i % 64 == 9 || (i / 64 > 8 && i * 2654435761u % 7 == 0);
    for (int i = 0; i < 16; ++i) x[i * 64 + 9] = i != 5;
    for (int i = 0; i < 16; ++i) want[16 + i] = true;
    for (int j = 0; j < 64; ++j) want[96 + j] = true;
    for (int i = 0; i < 1024; ++i) {
      const int r = i / 64, c = i % 64;
      want[r] = want[r] || x[i];
      want[16 + r] = want[16 + r] && x[i];
      want[32 + c] = want[32 + c] || x[i];
      want[96 + c] = want[96 + c] && x[i];
    }
    want[160] = true;
    auto out = device.allocate<bool>(162);
    kernel({.grid = 1}, device.upload(x), out);
    check_same("any, all", out.download(), want);
  });
}

TEST_CASE("reductions: sums of 16-bit floats are accumulated in 32 bits") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel sums("half_sum", [](tw::Ptr<tw::f16> out, tw::Ptr<tw::bf16> brain) {
      store(out, tw::sum(tw::full<tw::f16>({4096}, 1)));
      store(out + 1 + arange(0, 8), tw::sum(tw::full<tw::f16>({8, 16384}, 1.0 / 16), 1));
      store(brain, tw::sum(tw::full<tw::bf16>({2, 512}, 1)));
    });
    auto out = device.allocate<tw::f16>(9);
    auto brain = device.allocate<tw::bf16>(1);
    sums({.grid = 1}, out, brain);
    check_close("f16", out.download(), {4096, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024}, 0);
    check_close("bf16", brain.download(), {1024}, 0);
  });
}

TEST_CASE("reductions: own functions keep the order of elements") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("own", [](tw::Ptr<const std::int32_t> a, tw::Ptr<const std::int32_t> c, tw::Ptr<std::int32_t> out,
                                      tw::Ptr<float> moments, int rows, int cols) {
      auto i = column(arange(0, rows)), j = row(arange(0, cols));
      auto ta = load(a + i * cols + j), tc = load(c + i * cols + j);
      // x -> a x + c, one after the other: associative, not commutative.
      for (int axis : {0, 1}) {
        auto [slope, shift] = tw::reduce(std::tuple{ta, tc}, axis, [](Line f, Line g) {
          const auto& [fa, fc] = f;
          const auto& [ga, gc] = g;
          return Line{fa * ga, fc * ga + gc};
        });
        const int n = axis == 0 ? cols : rows;
        store(out + arange(0, n), slope);
        store(out + n + arange(0, n), shift);
        out += 2 * n;
      }
      store(out + arange(0, rows), tw::reduce(ta, 1, [](tw::I32, tw::I32 later) { return later; }));
      store(out + rows + arange(0, rows), tw::reduce(ta, 1, [](tw::I32 earlier, tw::I32) { return earlier; }));
      store(out + 2 * rows + arange(0, rows), tw::reduce(ta, -1, [](tw::I32 x, tw::I32 y) { return tw::maximum(x, y); }));
      // Mean and squared deviation by Welford's rule, over three tiles.
      using Moments = std::tuple<tw::F32, tw::F32, tw::F32>;
      auto x = tc.to<float>();
      auto [count, mean, m2] = tw::reduce(std::tuple{tw::full_like(x, 1), x, tw::zeros_like(x)}, 1, [](const Moments& p, const Moments& q) {
        const auto& [np, mp, sp] = p;
        const auto& [nq, mq, sq] = q;
        auto n = np + nq, delta = mq - mp;
        return Moments{n, mp + delta * nq / n, sp + sq + delta * delta * np * nq / n};
      });
      store(moments + arange(0, rows), mean);
      store(moments + rows + arange(0, rows), m2 / count);
    });
    for (const auto& [rows, cols] : {std::pair{8, 64}, {64, 4}, {2, 512}, {16, 16}}) {
      const auto a = numbers<std::int32_t>(rows * cols, 1, 5), c = numbers<std::int32_t>(rows * cols, 2, 50);
      auto out = device.allocate<std::int32_t>(2 * cols + 5 * rows);
      auto moments = device.allocate<float>(2 * rows);
      kernel({.grid = 1}, device.upload(a), device.upload(c), out, moments, rows, cols);
      std::vector<std::int32_t> want(2 * cols + 5 * rows);
      std::vector<double> want_moments(2 * rows);
      for (int j = 0; j < cols; ++j) {
        std::uint32_t slope = 1, shift = 0;
        for (int i = 0; i < rows; ++i) {
          const std::uint32_t s = a[i * cols + j], t = c[i * cols + j];
          slope *= s, shift = shift * s + t;
        }
        want[j] = slope, want[cols + j] = shift;
      }
      for (int i = 0; i < rows; ++i) {
        std::uint32_t slope = 1, shift = 0;
        double mean = 0, square = 0;
        for (int j = 0; j < cols; ++j) {
          const std::uint32_t s = a[i * cols + j], t = c[i * cols + j];
          slope *= s, shift = shift * s + t;
          mean += c[i * cols + j] / double(cols);
        }
        for (int j = 0; j < cols; ++j) square += (c[i * cols + j] - mean) * (c[i * cols + j] - mean) / cols;
        std::int32_t* w = &want[2 * cols];
        w[i] = slope, w[rows + i] = shift;
        w[2 * rows + i] = a[i * cols + cols - 1], w[3 * rows + i] = a[i * cols];
        w[4 * rows + i] = *std::max_element(&a[i * cols], &a[i * cols] + cols);
        want_moments[i] = mean, want_moments[rows + i] = square;
      }
      check_same("own", out.download(), want);
      check_close("moments", moments.download(), want_moments, 1e-4, 1e-3);
    }
  });
}
