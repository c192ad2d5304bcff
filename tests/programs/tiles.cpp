// Scans, sorts, gather and histogram in kernels.
#include <algorithm>
#include <numeric>

#include "tests/programs/programs.h"

namespace {

using namespace programs;
using tw::arange, tw::column, tw::row, tw::load, tw::store;

// ---- scans ----

/// All named scans of a cube along one axis, forwards and backwards.
template <class T>
void scans(tw::Ptr<const T> x, tw::Ptr<T> out, std::array<int, 3> shape, int axis) {
  const int n = shape[0] * shape[1] * shape[2];
  auto t = tw::reshape(load(x + arange(0, n)), {shape[0], shape[1], shape[2]});
  auto put = [&](int at, const tw::Tile<T>& r) { store(out + at * n + arange(0, n), tw::ravel(r)); };
  put(0, tw::cumsum(t, axis));
  put(1, tw::cumprod(t, axis - 3));
  put(2, tw::cummax(t, axis));
  put(3, tw::cummin(t, axis));
  put(4, tw::cumsum(t, axis, true));
  put(5, tw::flip(tw::cummax(tw::flip(t, axis), axis), axis));
  put(6, tw::cummax(t, axis, true));
}

template <class T>
void check_scans(tw::Device& device) {
  INFO("type ", typeid(T).name());
  const tw::Kernel kernel("scans", scans<T>);
  using Sum = std::conditional_t<std::integral<T>, std::uint64_t, std::conditional_t<sizeof(T) == 2, float, T>>;
  for (const std::array<int, 3>& shape : {std::array{4, 8, 32}, {32, 2, 4}, {1, 256, 1}})
    for (int axis = 0; axis < 3; ++axis) {
      const int n = shape[0] * shape[1] * shape[2], k = shape[axis], inner = axis == 2 ? 1 : axis == 1 ? shape[2] : shape[1] * shape[2];
      std::vector<T> x = numbers<T>(n, 5 + axis, std::integral<T> ? 20 : 1);
      if constexpr (!std::integral<T>) x[n / 2] = T(std::numeric_limits<float>::quiet_NaN());
      auto out = device.allocate<T>(7 * n);
      kernel({.grid = 1}, device.upload(x), out, shape, axis);
      std::vector<T> want(7 * n);
      for (int o = 0; o < n / (k * inner); ++o)
        for (int i = 0; i < inner; ++i) {
          const int start = o * k * inner + i;
          // Every rounding is the reference's: elements are taken in order, 16-bit floats in f32.
          const auto run = [&](int row, bool reverse, auto combine) {
            Sum s = 0;
            for (int j = 0; j < k; ++j) {
              const int at = start + (reverse ? k - 1 - j : j) * inner;
              s = j == 0 ? static_cast<Sum>(x[at]) : static_cast<Sum>(combine(s, static_cast<Sum>(x[at])));
              want[row * n + at] = static_cast<T>(s);
            }
          };
          const auto most = [&](Sum a, Sum b) {
            if constexpr (std::integral<T>) return static_cast<T>(a) > static_cast<T>(b) ? a : b;
            return a != a ? a : b != b ? b : std::max(a, b);
          };
          const auto least = [&](Sum a, Sum b) {
            if constexpr (std::integral<T>) return static_cast<T>(a) < static_cast<T>(b) ? a : b;
            return a != a ? a : b != b ? b : std::min(a, b);
          };
          run(0, false, std::plus<Sum>());
          run(1, false, std::multiplies<Sum>());
          run(2, false, most);
          run(3, false, least);
          run(4, true, std::plus<Sum>());
          run(5, true, most);
          run(6, true, most);
        }
      check_same("scans", out.download(), want);
    }
}

/// h[t] = a[t] h[t - 1] + x[t] for each channel, time along the first or the last axis.
void recurrence(tw::Ptr<const float> a, tw::Ptr<const float> x, tw::Ptr<float> h, int T, int C, bool time_first) {
  auto at = time_first ? column(arange(0, T)) * C + row(arange(0, C)) : column(arange(0, C)) * T + row(arange(0, T));
  auto [decay, state] = tw::scan(std::tuple{load(a + at), load(x + at)}, time_first ? 0 : 1, [](auto earlier, auto later) {
    auto [a1, h1] = earlier;
    auto [a2, h2] = later;
    return std::tuple{a1 * a2, tw::fma(a2, h1, h2)};
  });
  store(h + at, state);
}

/// Sums that start again at each flag, from the end of the row backwards.
void segments(tw::Ptr<const std::int32_t> x, tw::Ptr<const bool> starts, tw::Ptr<std::int32_t> out, int N) {
  auto at = arange(0, N);
  auto [flags, sums] = tw::scan(
      std::tuple{load(starts + at), load(x + at)}, 0,
      [](auto earlier, auto later) {
        auto [f1, s1] = earlier;
        auto [f2, s2] = later;
        return std::tuple{f1 || f2, tw::where(f2, s2, s1 + s2)};
      },
      true);
  store(out + at, tw::where(flags, sums, -sums));
}

/// Everything that a combine function may use besides its elements: outside scalars, the program, hints, constants.
void outside(tw::Ptr<std::int32_t> out, tw::I32 n, int N) {
  auto t = arange(0, N) % 3;
  auto f = [&](auto a, auto b) { return a + tw::multiple_of(b, 1) + (n + 10 * tw::program_id(0) + tw::num_programs(0)); };
  auto at = out + tw::program_id(0) * (N + 1);
  store(at + arange(0, N), tw::scan(t, 0, f));
  store(at + N, tw::reduce(t, 0, f));
}

// ---- sorts ----

template <class T>
bool before(T a, T b, bool descending) {
  const double x = as_double(a), y = as_double(b);
  if (x != x || y != y) return x == x && y != y;
  if constexpr (std::integral<T>) return descending ? a > b : a < b;
  return descending ? x > y : x < y;
}

template <class T>
void sorts(tw::Ptr<const T> x, tw::Ptr<T> out, tw::Ptr<std::int32_t> index, int ROWS, int N, int K, bool descending) {
  auto row_at = column(arange(0, ROWS)), lane = row(arange(0, N));
  auto t = load(x + (row_at * N + lane));
  auto put = [&](int at, const auto& r, const auto& p) { store(p + (at * ROWS * N + row_at * N + lane), r); };
  put(0, tw::sort(t, descending), out);
  auto [keys, values] = tw::sort(t, 3 * tw::broadcast_to(lane, {ROWS, N}), descending);
  put(1, keys, out);
  put(0, values, index);
  put(1, descending ? tw::argsort(t, true) : tw::argsort(t), index);
  auto [top, where] = tw::topk(t, K);
  auto short_row = row_at * N + row(arange(0, K));
  store(out + (2 * ROWS * N + short_row), top);
  store(index + (2 * ROWS * N + short_row), where);
}

template <class T>
void check_sorts(tw::Device& device) {
  INFO("type ", typeid(T).name());
  const tw::Kernel kernel("sorts", sorts<T>);
  struct Case {
    int rows, n, k;
  };
  for (const Case& c : {Case{1, 2048, 64}, Case{64, 4, 1}, Case{4, 128, 128}, Case{8, 1, 1}})
    for (bool descending : {false, true}) {
      const int all = c.rows * c.n;
      // Many equal ones, both zeros and NaNs among them.
      std::vector<T> x = descending ? random_bits<T>(all, 3) : numbers<T>(all, 4, 2);
      if constexpr (!std::integral<T>)
        for (int i = 0; i < all; i += 3) x[i] = T(i % 2 == 0 ? 0.0f : i % 9 == 0 ? std::numeric_limits<float>::quiet_NaN() : -0.0f);
      auto out = device.allocate<T>(3 * all);
      auto index = device.allocate<std::int32_t>(3 * all);
      out.fill(T(0)), index.fill(0);
      kernel({.grid = 1}, device.upload(x), out, index, c.rows, c.n, c.k, descending);
      std::vector<T> want(3 * all, T(0));
      std::vector<std::int32_t> where(3 * all, 0);
      for (int r = 0; r < c.rows; ++r) {
        std::vector<int> order(c.n), greatest(c.n);
        std::iota(order.begin(), order.end(), 0), std::iota(greatest.begin(), greatest.end(), 0);
        const T* row = &x[r * c.n];
        std::stable_sort(order.begin(), order.end(), [&](int i, int j) { return before(row[i], row[j], descending); });
        std::stable_sort(greatest.begin(), greatest.end(), [&](int i, int j) { return before(row[i], row[j], true); });
        for (int i = 0; i < c.n; ++i) {
          want[r * c.n + i] = want[all + r * c.n + i] = row[order[i]];
          where[r * c.n + i] = 3 * order[i], where[all + r * c.n + i] = order[i];
          if (i < c.k) want[2 * all + r * c.n + i] = row[greatest[i]], where[2 * all + r * c.n + i] = greatest[i];
        }
      }
      // To the bit: -0 and +0 are equal keys and stay what they are.
      check_same("sorted", out.download(), want);
      check_same("indices", index.download(), where);
    }
}

// ---- gather, histogram ----

void gathers(tw::Ptr<const double> x, tw::Ptr<const std::int64_t> by, tw::Ptr<double> out, int M, int N, int AXIS, int PICKED) {
  auto t = load(x + (column(arange(0, M)) * N + row(arange(0, N))));
  const int rows = AXIS == 0 ? PICKED : M, columns = AXIS == 1 ? PICKED : N;
  auto at = column(arange(0, rows)) * columns + row(arange(0, columns));
  store(out + at, tw::gather(t, load(by + at), AXIS));
}

template <class T>
void histograms(tw::Ptr<const T> x, tw::Ptr<std::int32_t> out, tw::I32 n, int SIZE, int BINS) {
  auto at = arange(0, SIZE);
  auto t = load(x + at, at < n);
  store(out + arange(0, BINS), tw::histogram(t, BINS, at < n));
  store(out + BINS + arange(0, BINS), tw::histogram(tw::reshape(t, {2, SIZE / 2}), BINS));
}

}  // namespace

TEST_CASE("scans: sums, products and extremes along each axis, both ways, to the bit") {
  on_every_device([](tw::Device& device) {
    check_scans<std::int8_t>(device);
    check_scans<std::int32_t>(device);
    check_scans<std::uint16_t>(device);
    check_scans<std::uint64_t>(device);
    if (is_gpu(device)) return;  // GPUs combine floats in another order
    check_scans<tw::f16>(device);
    check_scans<tw::bf16>(device);
    check_scans<float>(device);
    check_scans<double>(device);
  });
}

TEST_CASE("scans: a linear recurrence over pairs, time along either axis") {
  on_every_device([](tw::Device& device) {
    constexpr int T = 256, C = 16;
    const tw::Kernel kernel("recurrence", recurrence);
    for (bool time_first : {false, true}) {
      std::vector<float> a = numbers<float>(T * C, 1, 0.5), x = numbers<float>(T * C, 2);
      auto h = device.allocate<float>(T * C);
      kernel({.grid = 1}, device.upload(a), device.upload(x), h, T, C, time_first);
      std::vector<double> want(T * C);
      for (int c = 0; c < C; ++c) {
        double state = 0;
        for (int t = 0; t < T; ++t) {
          const int at = time_first ? t * C + c : c * T + t;
          want[at] = state = a[at] * state + x[at];
        }
      }
      check_close("states", h.download(), want, 1e-4, 1e-5);
    }
  });
}

TEST_CASE("scans: sums that start again at flags, backwards, beside a bool tile") {
  on_every_device([](tw::Device& device) {
    constexpr int N = 512;
    std::vector<std::int32_t> x = numbers<std::int32_t>(N, 3, 50);
    std::vector<bool> starts(N);
    for (int i = 0; i < N; ++i) starts[i] = i % 37 == 5;
    auto out = device.allocate<std::int32_t>(N);
    tw::Kernel("segments", segments)({.grid = 1}, device.upload(x), device.upload(starts), out, N);
    std::vector<std::int32_t> want(N);
    std::int32_t sum = 0;
    bool any = false;
    for (int i = N - 1; i >= 0; --i) {
      sum = starts[i] || i == N - 1 ? x[i] : sum + x[i];
      any = any || starts[i];
      want[i] = any ? sum : -sum;
    }
    check_same("sums", out.download(), want);
  });
}

TEST_CASE("scans: combine functions that name scalars of outside and the program") {
  on_every_device([](tw::Device& device) {
    constexpr int N = 64;
    auto out = device.allocate<std::int32_t>(2 * (N + 1));
    tw::Kernel("outside", outside)({.grid = 2}, out, 7, N);
    std::vector<std::int32_t> want;
    for (int program : {0, 1}) {
      std::int32_t sum = 0;
      for (int i = 0; i < N; ++i) want.push_back(sum += i % 3 + (i == 0 ? 0 : 7 + 10 * program + 2));
      want.push_back(sum);
    }
    check_same("sums", out.download(), want);
  });
}

TEST_CASE("sorts: stable, NaN last, both zeros equal, largest first for topk, for every type") {
  on_every_device([](tw::Device& device) {
    check_sorts<std::int8_t>(device);
    check_sorts<std::int16_t>(device);
    check_sorts<std::int32_t>(device);
    check_sorts<std::int64_t>(device);
    check_sorts<std::uint8_t>(device);
    check_sorts<std::uint16_t>(device);
    check_sorts<std::uint32_t>(device);
    check_sorts<std::uint64_t>(device);
    check_sorts<tw::f16>(device);
    check_sorts<tw::bf16>(device);
    check_sorts<float>(device);
    check_sorts<double>(device);
  });
}

TEST_CASE("sorts: the largest tile there is, and the median of it") {
  tw::Device device = tw::Device::open("cpu");
  constexpr int N = 1 << 20;
  std::vector<float> x = numbers<float>(N, 9);
  auto out = device.allocate<float>(N);
  auto median = device.allocate<float>(1);
  tw::Kernel("sort", [](tw::Ptr<const float> x, tw::Ptr<float> out, tw::Ptr<float> median) {
    auto sorted = tw::sort(load(x + arange(0, N)));
    store(out + arange(0, N), sorted);
    store(median, tw::reshape(tw::gather(sorted, tw::full<int>({1}, N / 2), 0), {}));
  })({.grid = 1}, device.upload(x), out, median);
  std::sort(x.begin(), x.end());
  check_same("sorted", out.download(), x);
  CHECK(median.download()[0] == x[N / 2]);
}

TEST_CASE("gather: rows and columns picked by index, fewer and more than there are") {
  on_every_device([](tw::Device& device) {
    constexpr int M = 8, N = 32;
    const tw::Kernel kernel("gathers", gathers);
    const std::vector<double> x = numbers<double>(M * N, 1);
    for (int axis : {0, 1})
      for (int picked : {1, 8, 64}) {
        const int rows = axis == 0 ? picked : M, columns = axis == 1 ? picked : N;
        std::vector<std::int64_t> by(rows * columns);
        for (int i = 0; i < rows * columns; ++i) by[i] = i * 7 % (axis == 0 ? M : N);
        auto out = device.allocate<double>(rows * columns);
        kernel({.grid = 1, .check = true}, device.upload(x), device.upload(by), out, M, N, axis, picked);
        std::vector<double> want;
        for (int i = 0; i < rows; ++i)
          for (int j = 0; j < columns; ++j) {
            const auto at = by[i * columns + j];
            want.push_back(axis == 0 ? x[at * N + j] : x[i * N + at]);
          }
        check_same("gathered", out.download(), want);
      }
  });
}

TEST_CASE("histogram: masked and not, values outside of the bins left out") {
  const auto check = [](tw::Device& device, auto type) {
    using T = decltype(type);
    constexpr int kSize = 1024, kValid = 1000;
    const std::vector<T> x = random_bits<T>(kSize, 6);
    for (int bins : {1, 128, 2048}) {
      auto out = device.allocate<std::int32_t>(2 * bins);
      tw::Kernel("histograms", histograms<T>)({.grid = 1}, device.upload(x), out, kValid, kSize, bins);
      std::vector<std::int32_t> want(2 * bins);
      for (int i = 0; i < kSize; ++i) {
        const T v = i < kValid ? x[i] : T(0);
        if (std::cmp_less(v, 0) || std::cmp_greater_equal(v, bins)) continue;
        if (i < kValid) ++want[static_cast<std::size_t>(v)];
        ++want[bins + static_cast<std::size_t>(v)];
      }
      check_same("counts", out.download(), want);
    }
  };
  on_every_device([&](tw::Device& device) {
    check(device, std::int8_t());
    check(device, std::uint8_t());
    check(device, std::int16_t());
    check(device, std::uint32_t());
    check(device, std::int64_t());
  });
}
