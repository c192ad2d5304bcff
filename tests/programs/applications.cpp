// Whole kernels as users write them: each one uses many parts of the language.
#include <algorithm>
#include <complex>

#include "tests/programs/programs.h"

namespace {

using namespace programs;
using tw::arange, tw::column, tw::row, tw::load, tw::store;

}  // namespace

TEST_CASE("applications: a sparse matrix times a vector, its bounds loaded from memory") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("spmv", [](tw::Ptr<const std::int32_t> starts, tw::Ptr<const std::int32_t> cols, tw::Ptr<const float> values,
                                       tw::Ptr<const float> x, tw::Ptr<float> y, int block) {
      auto r = tw::program_id(0);
      auto lo = load(starts + r), hi = load(starts + r + 1);
      auto sum = tw::zeros<float>({block});
      for (auto k : tw::range(lo, hi, block)) {
        auto at = k + arange(0, block);
        auto there = at < hi;
        sum += load(values + at, there) * load(x + load(cols + at, there), there);
      }
      store(y + r, tw::sum(sum));
    });
    const int n = 100;
    std::mt19937 engine(1);
    std::vector<std::int32_t> starts{0}, cols;
    for (int r = 0; r < n; ++r) {
      for (int c = 0; c < n; ++c)
        if (engine() % 100 < (r % 7 == 0 ? 0u : r % 5 == 0 ? 90u : 10u)) cols.push_back(c);
      starts.push_back(cols.size());
    }
    const auto values = numbers<float>(cols.size(), 2), x = numbers<float>(n, 3);
    auto y = device.allocate<float>(n);
    kernel({.grid = n}, device.upload(starts), device.upload(cols), device.upload(values), device.upload(x), y, 16);
    std::vector<double> want(n);
    for (int r = 0; r < n; ++r)
      for (int k = starts[r]; k < starts[r + 1]; ++k) want[r] += double(values[k]) * x[cols[k]];
    check_close("y", y.download(), want, 1e-5, 1e-5);
  });
}

TEST_CASE("applications: layer norm of any width in two passes, in 16 bits") {
  on_every_device([](tw::Device& device) {
    using T = tw::bf16;
    const tw::Kernel kernel("layer_norm", [](tw::View<const T, 2> x, tw::Ptr<const T> gain, tw::View<T, 2> y, tw::F32 eps, int block) {
      auto r = tw::program_id(0);
      auto n = x.extent(1);
      auto total = tw::zeros<float>({1, block}), squares = tw::zeros<float>({1, block});
      for (auto k : tw::range(0, n, block)) {
        auto t = x.load({r, k}, {1, block}).to<float>();
        total += t;
        squares = tw::fma(t, t, squares);
      }
      auto count = n.to<float>();
      auto mean = tw::sum(total) / count;
      auto scale = tw::rsqrt(tw::sum(squares) / count - mean * mean + eps);
      for (auto k : tw::range(0, n, block)) {
        auto at = k + row(arange(0, block));
        auto t = (x.load({r, k}, {1, block}) - mean) * scale;  // bf16 with f32
        y.store({r, k}, (t * load(gain + at, at < n)).to<T>());
      }
    });
    const int rows = 5, n = 333;
    const auto x = numbers<T>(rows * n, 1, 3), gain = numbers<T>(n, 2);
    const auto bx = device.upload(x);
    auto y = device.allocate<T>(rows * n);
    kernel({.grid = rows}, tw::view(bx, {rows, n}), device.upload(gain), tw::view(y, {rows, n}), 1e-5f, 128);
    std::vector<double> want;
    for (int r = 0; r < rows; ++r) {
      double mean = 0, square = 0;
      for (int k = 0; k < n; ++k) mean += as_double(x[r * n + k]) / n;
      for (int k = 0; k < n; ++k) square += std::pow(as_double(x[r * n + k]) - mean, 2) / n;
      for (int k = 0; k < n; ++k) want.push_back((as_double(x[r * n + k]) - mean) / std::sqrt(square + 1e-5) * as_double(gain[k]));
    }
    check_close("y", y.download(), want, 5e-3, 1e-4);
  });
}

TEST_CASE("applications: shortest paths of all pairs, in place") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("floyd", [](tw::Ptr<float> d, int n) {
      auto at = column(arange(0, n)) * n + row(arange(0, n));
      for (auto k : tw::range(0, n)) {
        auto through = load(d + column(arange(0, n)) * n + k) + load(d + k * n + row(arange(0, n)));
        store(d + at, tw::minimum(load(d + at), through));
      }
    });
    const int n = 64;
    std::vector<float> d(n * n, INFINITY);
    std::mt19937 engine(4);
    for (int i = 0; i < n * n; ++i)
      if (engine() % 10 == 0) d[i] = 1 + engine() % 20;
    for (int i = 0; i < n; ++i) d[i * n + i] = 0;
    auto on = device.upload(d);
    kernel({.grid = 1}, on, n);
    for (int k = 0; k < n; ++k)
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) d[i * n + j] = std::min(d[i * n + j], d[i * n + k] + d[k * n + j]);
    check_same("d", on.download(), d);
  });
}

TEST_CASE("applications: a linear system by elimination with pivots, in registers") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("solve", [](tw::Ptr<const double> a, tw::Ptr<const double> b, tw::Ptr<double> x, int n) {
      auto i = arange(0, n);
      auto m = load(a + column(i) * n + row(i));
      auto rhs = load(b + i);
      tw::I32 done = tw::zeros<std::int32_t>({n}), order = done;
      for (auto k : tw::range(0, n)) {
        auto col = tw::sum(tw::where(row(i) == k, m, 0), 1);
        auto p = tw::argmax(tw::where(done == 0, tw::abs(col), -1));
        auto is_pivot = i == p;
        auto pivot = tw::sum(tw::where(is_pivot, col, 0));
        auto line = tw::sum(tw::where(column(is_pivot), m, 0), 0) / pivot;
        auto value = tw::sum(tw::where(is_pivot, rhs, 0)) / pivot;
        m = tw::where(column(is_pivot), row(line), m - column(col) * row(line));
        rhs = tw::where(is_pivot, value, rhs - col * value);
        done = tw::where(is_pivot, 1, done);
        order = tw::where(is_pivot, k, order);
      }
      store(x + order, rhs);
    });
    const int n = 32;
    const auto a = numbers<double>(n * n, 1), want = numbers<double>(n, 2);
    std::vector<double> b(n);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) b[i] += a[i * n + j] * want[j];
    auto x = device.allocate<double>(n);
    kernel({.grid = 1}, device.upload(a), device.upload(b), x, n);
    check_close("x", x.download(), {want.begin(), want.end()}, 1e-9, 1e-9);
  });
}

TEST_CASE("applications: escape times of the Mandelbrot set") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("mandelbrot", [](tw::Ptr<std::int32_t> out, tw::I32 width, tw::I32 limit, int bm, int bn) {
      auto i = column(tw::program_id(1) * bm + arange(0, bm)), j = row(tw::program_id(0) * bn + arange(0, bn));
      auto re = j.to<double>() * 0.03125 - 2, im = i.to<double>() * 0.03125 - 1;
      auto zr = tw::zeros<double>({bm, bn}), zi = zr;
      auto count = tw::zeros<std::int32_t>({bm, bn});
      tw::I32 steps = 0;
      tw::loop_while([&] { return tw::any(zr * zr + zi * zi <= 4.0) && steps < limit; },
                     [&] {
                       auto inside = zr * zr + zi * zi <= 4.0;
                       auto next = zr * zr - zi * zi + re;
                       zi = tw::where(inside, 2 * zr * zi + im, zi);
                       zr = tw::where(inside, next, zr);
                       count += inside.to<std::int32_t>();
                       steps += 1;
                     });
      store(out + i * width + j, count, j < width);
    });
    const int height = 64, width = 90, limit = 60;
    auto out = device.allocate<std::int32_t>(height * width);
    kernel({.grid = {tw::cdiv(width, 32), height / 16}, .contract = false}, out, width, limit, 16, 32);
    std::vector<std::int32_t> want;
    for (int i = 0; i < height; ++i)
      for (int j = 0; j < width; ++j) {
        double zr = 0, zi = 0;
        int count = 0;
        for (int s = 0; s < limit && zr * zr + zi * zi <= 4; ++s, ++count) {
          const double a = zr * zr, b = zi * zi, next = (a - b) + (j * 0.03125 - 2);
          zi = 2 * zr * zi + (i * 0.03125 - 1), zr = next;
        }
        want.push_back(count);
      }
    check_same("count", out.download(), want);
  });
}

TEST_CASE("applications: a fast Fourier transform, stage by stage in one tile") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("fft", [](tw::Ptr<const double> x, tw::Ptr<double> out, int n) {
      auto i = arange(0, n);
      int bits = 0;
      while (1 << bits < n) ++bits;
      tw::I32 reversed = tw::zeros_like(i);
      for (int b = 0; b < bits; ++b) reversed = reversed | ((i >> b & 1) << (bits - 1 - b));
      auto re = load(x + reversed), im = tw::zeros<double>({n});
      for (int half = 1; half < n; half *= 2) {
        // [blocks, 2, half]: the butterflies of this stage.
        auto split = [&](const tw::F64& t, int which) {
          auto cube = tw::reshape(t, {n / half / 2, 2, half});
          return tw::sum(tw::where(tw::expand_dims(column(arange(0, 2)), 0) == which, cube, 0), 1);
        };
        auto angle = row(arange(0, half)).to<double>() * (-M_PI / half);
        auto wr = tw::cos(angle), wi = tw::sin(angle);
        auto er = split(re, 0), ei = split(im, 0), pr = split(re, 1), pi = split(im, 1);
        auto tr = pr * wr - pi * wi, ti = pr * wi + pi * wr;
        auto merge = [&](const tw::F64& e, const tw::F64& t) {
          auto sign = tw::where(tw::expand_dims(column(arange(0, 2)), 0) == 0, 1.0f, tw::full<double>({}, -1));
          return tw::ravel(tw::expand_dims(e, 1) + sign * tw::expand_dims(t, 1));
        };
        re = merge(er, tr);
        im = merge(ei, ti);
      }
      store(out + i * 2, re);
      store(out + i * 2 + 1, im);
    });
    const int n = 64;
    const auto x = numbers<double>(n, 1);
    auto out = device.allocate<double>(2 * n);
    kernel({.grid = 1}, device.upload(x), out, n);
    std::vector<double> want;
    for (int k = 0; k < n; ++k) {
      std::complex<double> sum = 0;
      for (int i = 0; i < n; ++i) sum += x[i] * std::polar(1.0, -2 * M_PI * i * k / n);
      want.insert(want.end(), {sum.real(), sum.imag()});
    }
    check_close("spectrum", out.download(), want, 1e-12, 1e-12);
  });
}

TEST_CASE("applications: compensated sums keep what they compensate for") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("kahan", [](tw::Ptr<const float> x, tw::Ptr<float> out, tw::I32 n) {
      tw::F32 sum = 0, rest = 0, plain = 0;
      for (auto i : tw::range(0, n)) {
        auto y = load(x + i) - rest;
        auto t = sum + y;
        rest = (t - sum) - y;
        sum = t;
        plain += load(x + i);
      }
      store(out, sum);
      store(out + 1, plain);
    });
    const int n = 1 << 16;
    std::vector<float> x(n, 0.1f);
    x[0] = 1e7f;
    auto out = device.allocate<float>(2);
    kernel({.grid = 1}, device.upload(x), out, n);
    float sum = 0, rest = 0, plain = 0;
    for (float v : x) {
      const volatile float y = v - rest, t = sum + y, taken = t - sum;
      rest = taken - y;
      sum = t;
      plain += v;
    }
    check_same("sums", out.download(), std::vector<float>{sum, plain});
    CHECK(sum != plain);
  });
}

TEST_CASE("applications: dropout that its own backward pass repeats, and cross entropy with labels") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel dropout("dropout", [](tw::Ptr<const float> x, tw::Ptr<float> y, tw::I32 n, tw::F32 p, tw::U64 seed, int block) {
      auto i = tw::program_id(0) * block + arange(0, block);
      auto keep = tw::rand(seed, i) >= p;
      store(y + i, tw::where(keep, load(x + i, i < n) / (1 - p), 0), i < n);
    });
    const int n = 10000;
    const auto x = device.upload(std::vector<float>(n, 1));
    auto y = device.allocate<float>(n), again = device.allocate<float>(n);
    dropout({.grid = tw::cdiv(n, 256)}, x, y, n, 0.25f, 1234u, 256);
    dropout({.grid = tw::cdiv(n, 1024)}, x, again, n, 0.25f, 1234u, 1024);
    check_same("the same lanes in other blocks", again.download(), y.download());
    int kept = 0;
    for (float v : y.download()) kept += v != 0;
    CHECK(kept / double(n) == doctest::Approx(0.75).epsilon(0.03));

    const tw::Kernel loss("cross_entropy",
                          [](tw::View<const tw::f16, 2> logits, tw::Ptr<const std::int64_t> labels, tw::Ptr<float> out, int block) {
                            auto r = tw::program_id(0);
                            auto t = logits.load({r, 0}, {1, block}, -tw::inf).to<float>();
                            auto label = load(labels + r);
                            auto picked = tw::sum(tw::where(row(arange(0, block)) == label, tw::log_softmax(t, 1), 0));
                            store(out + r, tw::where(label < 0, 0, -picked));
                          });
    const int rows = 6, classes = 77;
    const auto logits = numbers<tw::f16>(rows * classes, 3, 4);
    const std::vector<std::int64_t> labels{0, 76, -100, 5, 33, 12};
    const auto on = device.upload(logits);
    auto out = device.allocate<float>(rows);
    loss({.grid = rows}, tw::view(on, {rows, classes}), device.upload(labels), out, 128);
    std::vector<double> want;
    for (int r = 0; r < rows; ++r) {
      double sum = 0;
      for (int c = 0; c < classes; ++c) sum += std::exp(as_double(logits[r * classes + c]));
      want.push_back(labels[r] < 0 ? 0 : std::log(sum) - as_double(logits[r * classes + labels[r]]));
    }
    check_close("loss", out.download(), want, 1e-5, 1e-5);
  });
}

TEST_CASE("applications: a recurrent cell over time, weights of 8 bits with scales") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("recurrent", [](tw::View<const float, 3> x, tw::Ptr<const std::int8_t> w, tw::Ptr<const float> scale,
                                            tw::View<float, 3> out, int batch, int d) {
      auto at = column(arange(0, d)) * d + row(arange(0, d));
      auto weights = load(w + at).to<float>() * row(load(scale + arange(0, d)));
      auto h = tw::zeros<float>({batch, d});
      for (auto t : tw::range(0, x.extent(0))) {
        auto in = tw::squeeze(x.load({t, 0, 0}, {1, batch, d}), 0);
        h = tw::tanh(tw::dot(h, weights, in));
        out.store({t, 0, 0}, tw::expand_dims(h, 0));
      }
    });
    const int steps = 9, batch = 5, d = 16;
    const auto x = numbers<float>(steps * batch * d, 1), scale = numbers<float>(d, 2, 0.01);
    const auto w = numbers<std::int8_t>(d * d, 3, 30);
    const auto bx = device.upload(x);
    auto out = device.allocate<float>(steps * batch * d);
    kernel({.grid = 1}, tw::view(bx, {steps, batch, d}), device.upload(w), device.upload(scale), tw::view(out, {steps, batch, d}), 8, d);
    std::vector<double> want, h(batch * d, 0);
    for (int t = 0; t < steps; ++t) {
      std::vector<double> next(batch * d);
      for (int b = 0; b < batch; ++b)
        for (int j = 0; j < d; ++j) {
          double sum = x[(t * batch + b) * d + j];
          for (int k = 0; k < d; ++k) sum += h[b * d + k] * w[k * d + j] * double(scale[j]);
          next[b * d + j] = std::tanh(sum);
        }
      h = next;
      want.insert(want.end(), h.begin(), h.end());
    }
    check_close("out", out.download(), want, 10 * f32_dot_tolerance(device), f32_dot_tolerance(device));
  });
}

TEST_CASE("applications: ranks by counting, histograms by comparison, the greatest k by taking them away") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("order", [](tw::Ptr<const float> x, tw::Ptr<float> sorted, tw::Ptr<std::int32_t> counts,
                                        tw::Ptr<std::int32_t> top, int n, int bins, int k) {
      auto i = arange(0, n);
      auto v = load(x + i);
      auto before = row(v) < column(v) || (row(v) == column(v) && row(i) < column(i));
      store(sorted + tw::sum(before.to<std::int32_t>(), 1), v);
      auto bin = tw::clamp(tw::floor(v * 4), 0, bins - 1).to<std::int32_t>();
      store(counts + arange(0, bins), tw::sum((column(bin) == row(arange(0, bins))).to<std::int32_t>(), 0));
      for (int t = 0; t < k; ++t) {
        auto best = tw::argmax(v);
        store(top + t, best);
        v = tw::where(i == best, -tw::inf, v);
      }
    });
    const int n = 256, bins = 16, k = 5;
    auto x = numbers<float>(n, 1, 2);
    for (int i = 0; i < n; i += 3) x[i] = std::round(x[i]);  // ties
    auto sorted = device.allocate<float>(n);
    auto counts = device.allocate<std::int32_t>(bins), top = device.allocate<std::int32_t>(k);
    kernel({.grid = 1}, device.upload(x), sorted, counts, top, n, bins, k);
    std::vector<std::int32_t> want_counts(bins), order(n);
    for (float v : x) ++want_counts[static_cast<int>(std::clamp(std::floor(v * 4), 0.f, bins - 1.f))];
    for (int i = 0; i < n; ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](int a, int b) { return x[a] != x[b] ? x[a] > x[b] : a < b; });
    order.resize(k);
    std::sort(x.begin(), x.end());
    const auto got = sorted.download();
    CHECK(std::equal(x.begin(), x.end(), got.begin()));  // -0 and +0 are equal
    check_same("counts", counts.download(), want_counts);
    check_same("top", top.download(), order);
  });
}
