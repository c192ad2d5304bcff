// Reductions and scans of whole arrays, and along axes: lengths, strides, types, and functions that do not commute.
#include <numeric>

#include "tests/kernels/matrices.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

namespace {

// "The later one, unless it is 0" is associative, has the identity 0, and does not commute.
constexpr auto kLast = [](auto earlier, auto later) { return tw::where(later == 0, earlier, later); };
constexpr auto kSum = [](auto a, auto b) { return a + b; };
constexpr auto kMax = [](auto a, auto b) { return tw::maximum(a, b); };

/// 0, 1, odd, prime, around a tile, and long enough for several programs.
std::vector<std::int64_t> lengths_to_reduce(const tw::Device& device) {
  std::vector<std::int64_t> out{0, 1, 2, 7, 31, 997, 1023, 1024, 1025, 4095, 4096, 4097};
  out.push_back(is_gpu(device) ? 20011 : 100003);
  return out;
}

std::vector<int> sparse_numbers(std::int64_t n) {
  std::vector<int> x(static_cast<std::size_t>(n));
  std::mt19937 engine(static_cast<unsigned>(n));
  for (int& v : x) v = engine() % 3 == 0 ? static_cast<int>(engine() % 1000) - 500 : 0;
  return x;
}

}  // namespace

TEST_CASE("reduce: whole buffers of any length, in order") {
  on_every_device([](tw::Device& device) {
    for (std::int64_t n : lengths_to_reduce(device)) {
      INFO("n = ", n);
      const std::vector<int> x = sparse_numbers(n);
      const auto buffer = device.upload(x);
      int last = 0;
      for (int v : x) last = v == 0 ? last : v;
      CHECK(kernels::reduce(tw::view(buffer, {n}), kLast, 0) == last);
      CHECK(kernels::reduce(buffer, kSum, 0) == std::accumulate(x.begin(), x.end(), 0));
      CHECK(kernels::reduce(
                buffer, [](tw::I32 a, tw::I32 b) { return tw::minimum(a, b); }, 7) ==
            std::accumulate(x.begin(), x.end(), 7, [](int a, int b) { return std::min(a, b); }));
    }
  });
}

TEST_CASE("reduce: views, types, and the same bits again") {
  on_every_device([](tw::Device& device) {
    const auto check = [&]<class T>(T zero, Placement placement) {
      Array<T, 3> x(device, {3, 17, 67}, 1, placement);
      const auto values = x.values();
      double sum = 0, largest = -1000, size = 0;
      for (double v : values) sum += v, largest = std::max(largest, v), size += std::abs(v);
      const auto got = kernels::reduce(x.view(), kSum, zero);
      static_assert(std::is_same_v<decltype(got), const T>);
      CHECK(std::abs(number(got) - sum) <= epsilon<T>() * size);
      CHECK(number(kernels::reduce(x.view(), kMax, T(-1000.0f))) == largest);
      CHECK(number(kernels::reduce(x.view(), kSum, zero)) == number(got));
    };
    for (Placement placement : {Placement::dense, Placement::padded, Placement::reversed}) {
      check(0.0f, placement);
      check(tw::bf16(0.0f), placement);
    }
    check(0.0, Placement::padded);
    check(tw::f16(0.0f), Placement::dense);
    const auto flags = device.upload(std::vector<bool>{true, true, false, true});
    CHECK(!kernels::reduce(flags, [](auto a, auto b) { return a && b; }, true));
    // Functions over the type itself: not combined in float.
    const auto halves = device.upload(std::vector<tw::f16>(100, tw::f16(0.5f)));
    CHECK(number(kernels::reduce(halves, [](tw::F16 a, tw::F16 b) { return a + b; }, tw::f16(0.0f))) == 50);
    const tw::Stream stream = device.stream();
    auto big = device.upload(std::vector<std::int64_t>(5000, std::int64_t{1} << 40));
    CHECK(kernels::reduce(big, kSum, 0, {.stream = stream}) == std::int64_t{5000} << 40);
  });
}

TEST_CASE("reduce and scan: the identity of 16-bit floats may be any number") {
  tw::Device device = tw::Device::open("cpu");
  const auto x = device.upload(std::vector<tw::f16>{tw::f16(-1.0f), tw::f16(-3.0f), tw::f16(-2.0f)});
  auto y = device.allocate<tw::f16>(3);
  const auto most = [](auto a, auto b) { return tw::maximum(a, b); };
  CHECK(number(kernels::reduce(x, most, -tw::inf)) == -1);
  CHECK(number(kernels::reduce(x, most, -1e4)) == -1);
  CHECK(number(kernels::reduce(x, [](auto a, auto b) { return a + b; }, 0)) == -6);
  kernels::scan(x, y, most, -tw::inf, true);
  CHECK(number(y.download()[0]) == -INFINITY);
  CHECK(number(y.download()[2]) == -1);
}

TEST_CASE("reduce: sums and functions along each axis") {
  on_every_device([](tw::Device& device) {
    const std::array<std::int64_t, 3> shape{3, 130, 37};
    for (Placement placement : {Placement::dense, Placement::padded, Placement::reversed})
      for (int axis = 0; axis < 3; ++axis) {
        INFO("axis ", axis);
        Array<std::int32_t, 3> x(device, shape, 1, placement);
        const std::array<std::int64_t, 2> kept{shape[axis == 0 ? 1 : 0], shape[axis == 2 ? 1 : 2]};
        Array<std::int32_t, 2> y(device, kept, 2, placement), last(device, kept, 3);
        kernels::reduce(x.view(), axis, y.view());
        kernels::reduce(x.view(), axis - 3, last.view(), kLast, 0);
        const auto in = x.values();
        std::vector<double> sums(static_cast<std::size_t>(kept[0] * kept[1])), lasts = sums;
        for (std::size_t n = 0; n < in.size(); ++n) {
          const std::size_t i = n / (130 * 37), j = n / 37 % 130, k = n % 37;
          const std::size_t to = axis == 0 ? j * 37 + k : axis == 1 ? i * 37 + k : i * 130 + j;
          sums[to] += in[n];
          if (in[n] != 0) lasts[to] = in[n];
        }
        CHECK(y.values() == sums);
        CHECK(last.values() == lasts);
        CHECK(y.gaps_untouched());
      }
  });
}

TEST_CASE("reduce: long axes, one axis, extents of 1 that stay, wider sums, no elements") {
  on_every_device([](tw::Device& device) {
    const std::int64_t k = is_gpu(device) ? 20011 : 100003;
    Array<std::int8_t, 2> x(device, {2, k}, 1);
    Array<std::int64_t, 1> y(device, {2}, 2);
    Array<std::int32_t, 2> kept(device, {2, 1}, 2);
    kernels::reduce(x.view(), -1, y.view());
    kernels::reduce(x.view(), 1, kept.view());
    const auto in = x.values();
    std::vector<double> sums(2), columns;
    for (std::size_t n = 0; n < in.size(); ++n) sums[n / static_cast<std::size_t>(k)] += in[n];
    CHECK(y.values() == sums);
    CHECK(kept.values() == sums);
    Array<float, 1> columns_of(device, {k}, 3);
    kernels::reduce(x.view(), 0, columns_of.view());
    for (std::size_t n = 0; n < static_cast<std::size_t>(k); ++n) columns.push_back(in[n] + in[n + static_cast<std::size_t>(k)]);
    CHECK(columns_of.values() == columns);

    Array<float, 1> line(device, {5000}, 4), one(device, {1}, 5);
    kernels::reduce(line.view(), 0, one.view(), kMax, -1000.0f);
    const auto values = line.values();
    CHECK(one.values()[0] == *std::max_element(values.begin(), values.end()));
    Array<float, 2> empty(device, {3, 0}, 6);
    Array<float, 1> zeros(device, {3}, 7), nothing(device, {0}, 8);
    kernels::reduce(empty.view(), 1, zeros.view());
    kernels::reduce(empty.view(), 0, nothing.view());
    CHECK(zeros.values() == std::vector<double>(3));
  });
}

TEST_CASE("reduce: batch_invariant sums of a row do not depend on the other rows") {
  on_every_device([](tw::Device& device) {
    Array<float, 2> x(device, {70, 3001}, 1);
    Array<float, 1> all(device, {70}, 2), one(device, {1}, 3);
    kernels::reduce(x.view(), 1, all.view(), {.batch_invariant = true});
    kernels::reduce(tw::view(x.buffer, {1, 3001}), 1, one.view(), {.batch_invariant = true});
    CHECK(one.values()[0] == all.values()[0]);
  });
}

TEST_CASE("scan: whole buffers of any length, in order, in place too") {
  on_every_device([](tw::Device& device) {
    for (std::int64_t n : lengths_to_reduce(device)) {
      INFO("n = ", n);
      const std::vector<int> x = sparse_numbers(n);
      const auto from = device.upload(x);
      auto to = device.allocate<int>(n), in_place = device.upload(x);
      std::vector<int> inclusive, exclusive;
      for (int last = 0; int v : x) exclusive.push_back(last), last = v == 0 ? last : v, inclusive.push_back(last);
      kernels::scan(tw::view(from, {n}), tw::view(to, {n}), kLast, 0);
      CHECK(to.download() == inclusive);
      kernels::scan(from, to, kLast, 0, true);
      CHECK(to.download() == exclusive);
      kernels::scan(in_place, in_place, kLast, 0, true);
      CHECK(in_place.download() == exclusive);
    }
  });
}

TEST_CASE("scan: views, types and configurations") {
  on_every_device([](tw::Device& device) {
    const auto check = [&]<class T>(T zero, Placement placement, bool in_place) {
      Array<T, 2> x(device, {61, 83}, 1, placement), y(device, {61, 83}, 2, placement);
      const auto values = x.values();
      std::vector<double> want;
      for (double sum = 0; double v : values) want.push_back(sum += v);
      if (in_place)
        kernels::scan(x.view(), x.view(), kSum, zero, {.stream = device.stream()});
      else
        kernels::scan(x.view(), y.view(), kSum, zero);
      device.synchronize();
      CHECK(error((in_place ? x : y).values(), want) <= 2 * epsilon<T>());
      CHECK((in_place ? x : y).gaps_untouched());
    };
    for (Placement placement : {Placement::dense, Placement::padded, Placement::reversed}) {
      check(0.0f, placement, true);
      check(std::int64_t{0}, placement, false);
    }
    check(tw::f16(0.0f), Placement::dense, true);
    check(0.0, Placement::padded, false);
    const auto ones = device.upload(std::vector<int>(1000, 1));
    auto sums = device.allocate<int>(1000);
    kernels::scan(ones, sums, kSum, 0, true, {.configuration = kernels::Configuration{.bn = 16, .splits = 40}});
    std::vector<int> want(1000);
    std::iota(want.begin(), want.end(), 0);
    CHECK(sums.download() == want);
  });
}
