// Histograms and compaction: lengths, strides, types, values that are not counted.
#include "tests/kernels/matrices.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

namespace {

template <class T>
std::vector<T> random_integers(std::int64_t n, int low, int high) {
  std::vector<T> x(static_cast<std::size_t>(n));
  std::mt19937 engine(static_cast<unsigned>(n));
  for (T& v : x) v = static_cast<T>(low + static_cast<int>(engine() % static_cast<unsigned>(high - low)));
  return x;
}

template <class T>
std::vector<int> counts_of(const std::vector<T>& x, int bins) {
  std::vector<int> counts(static_cast<std::size_t>(bins));
  for (T v : x)
    if (v >= 0 && static_cast<std::uint64_t>(v) < counts.size()) ++counts[static_cast<std::size_t>(v)];
  return counts;
}

}  // namespace

TEST_CASE("histogram: lengths, numbers of bins, types, values outside") {
  on_every_device([](tw::Device& device) {
    for (std::int64_t n : {0, 1, 2, 31, 997, 1023, 1025, is_gpu(device) ? 20011 : 100003})
      for (int bins : {1, 7, 64, 1000, 2048, 2049, 5000}) {
        INFO("n = ", n, ", bins = ", bins);
        const auto x = random_integers<int>(n, -10, bins + 20);
        CHECK(kernels::histogram(device.upload(x), bins).download() == counts_of(x, bins));
      }
    const auto bytes = random_integers<std::uint8_t>(5000, 0, 256);
    const auto from = device.upload(bytes);
    auto counts = device.allocate<std::int64_t>(200);
    kernels::histogram(tw::view(from, {50, 100}), tw::view(counts, {100}, {2}), {.stream = device.stream()});
    device.synchronize();
    const auto want = counts_of(bytes, 100);
    const auto got = counts.download();
    for (std::size_t i = 0; i < 100; ++i) CHECK(got[2 * i] == want[i]);
    // What is loaded behind the end is in no bin: neither 0 nor the greatest number of a small type.
    const auto check_odd_length = [&]<class T>(T, int low, int high, int bins) {
      const auto odd = random_integers<T>(997, low, high);
      CHECK(kernels::histogram(device.upload(odd), bins).download() == counts_of(odd, bins));
    };
    for (int bins : {1, 255, 256, 300}) check_odd_length(std::uint8_t(), 0, 256, bins);
    for (int bins : {5, 128, 300}) check_odd_length(std::int8_t(), -128, 128, bins);
    check_odd_length(std::uint16_t(), 65000, 65536, 70000);
    for (int bins : {7, 3000}) check_odd_length(std::int64_t(), -3000, 3000, bins);
    Array<std::int16_t, 3> x(device, {3, 17, 30}, 1, Placement::reversed);
    auto four = device.allocate<std::uint32_t>(4);
    kernels::histogram(x.view(), four);
    std::vector<unsigned> wanted(4);
    for (double v : x.values())
      if (v >= 0 && v < 4) ++wanted[static_cast<std::size_t>(v)];
    CHECK(four.download() == wanted);
    const auto large = device.upload(std::vector<std::uint64_t>{0, ~0ull, 1ull << 32, 5, 1ull << 63});
    CHECK(kernels::histogram(large, 6).download() == std::vector<int>{1, 0, 0, 0, 0, 1});
    CHECK(kernels::histogram(large, 3000).download()[5] == 1);
  });
}

TEST_CASE("compact: keeps the order, and what stands behind") {
  on_every_device([](tw::Device& device) {
    for (std::int64_t n : {0, 1, 2, 31, 997, 1023, 1024, 1025, 4097, is_gpu(device) ? 20011 : 100003})
      for (int one_of : {1, 3, 1000000}) {
        INFO("n = ", n, ", one of ", one_of);
        const auto x = random_integers<int>(n, -1000, 1000);
        std::vector<bool> mask;
        std::vector<int> want(static_cast<std::size_t>(n), -7);
        std::int64_t count = 0;
        std::mt19937 engine(5);
        for (int v : x) {
          mask.push_back(engine() % static_cast<unsigned>(one_of) == 0);
          if (mask.back()) want[static_cast<std::size_t>(count++)] = v;
        }
        const auto from = device.upload(x);
        const auto keep = device.upload(mask);
        auto y = device.upload(std::vector<int>(static_cast<std::size_t>(n), -7));
        CHECK(kernels::compact(from, keep, y) == count);
        CHECK(y.download() == want);
      }
    for (Placement placement : {Placement::padded, Placement::reversed}) {
      Array<tw::f16, 2> x(device, {37, 41}, 1, placement);
      Array<std::int8_t, 2> mask(device, {37, 41}, 2, placement);
      Array<tw::f16, 1> y(device, {37 * 41}, 3, placement);
      std::vector<double> want = y.values();
      const auto in = x.values(), keep = mask.values();
      std::size_t count = 0;
      for (std::size_t i = 0; i < in.size(); ++i)
        if (keep[i] != 0) want[count++] = in[i];
      CHECK(kernels::compact(x.view(), mask.view(), y.view(), {.stream = device.stream()}) == static_cast<std::int64_t>(count));
      device.synchronize();
      CHECK(y.values() == want);
      CHECK(y.gaps_untouched());
    }
  });
}
