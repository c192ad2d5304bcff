// The largest elements of rows: lengths, types, NaNs and zeros, the order of equal elements, strides.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "tests/kernels/matrices.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

namespace {

/// Keys of which many are equal, and all bits are used.
template <class T>
std::vector<T> random_keys(std::int64_t n) {
  std::vector<T> x(static_cast<std::size_t>(n));
  std::mt19937_64 engine(static_cast<unsigned>(n) + 1);
  for (T& v : x) {
    if constexpr (std::is_integral_v<T>) {
      v = static_cast<T>(engine() % 2 ? engine() : engine() % 5);
    } else {
      const float special[] = {0.0f, -0.0f, 1.0f, INFINITY, -INFINITY, NAN, -NAN, 1e-40f};
      v = static_cast<T>(engine() % 3 ? static_cast<float>(static_cast<double>(engine() >> 40) - 8e6) : special[engine() % 8]);
    }
  }
  return x;
}

/// Whether a stands before b: the order that the library documents.
template <class T>
bool before(T a, T b, bool descending) {
  if constexpr (std::is_integral_v<T>) {
    return descending ? b < a : a < b;
  } else {
    const double x = number(a), y = number(b);
    if (std::isnan(x) || std::isnan(y)) return !std::isnan(x);
    return descending ? y < x : x < y;
  }
}
template <class T>
std::vector<int> sorted_places(const std::vector<T>& x, bool descending) {
  std::vector<int> places(x.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [&](int a, int b) {
    const T x_a = x[static_cast<std::size_t>(a)], x_b = x[static_cast<std::size_t>(b)];
    return before(x_a, x_b, descending) && !before(x_b, x_a, descending);
  });
  return places;
}

}  // namespace

TEST_CASE("top_k: lengths, types, equal elements by lower index") {
  on_every_device([](tw::Device& device) {
    const auto check = [&]<class T>(T, std::int64_t rows, std::int64_t n, std::int64_t k) {
      INFO("rows of ", n, ", k = ", k, ", ", sizeof(T), " bytes");
      const std::vector<T> x = random_keys<T>(rows * n);
      const auto from = device.upload(x);
      auto values = device.allocate<T>(rows * k);
      auto indices = device.allocate<int>(rows * k);
      kernels::top_k(tw::view(from, {rows, n}), k, tw::view(values, {rows, k}), tw::view(indices, {rows, k}));
      const auto got = values.download();
      const auto places = indices.download();
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::vector<T> row(x.begin() + r * n, x.begin() + (r + 1) * n);
        const std::vector<int> want = sorted_places(row, true);
        for (std::int64_t i = 0; i < k; ++i) {
          const std::size_t at = static_cast<std::size_t>(r * k + i);
          CHECK(places[at] == want[static_cast<std::size_t>(i)]);
          CHECK(std::memcmp(&got[at], &row[static_cast<std::size_t>(want[static_cast<std::size_t>(i)])], sizeof(T)) == 0);
        }
      }
    };
    for (std::int64_t n : {1, 2, 31, 255, 256, 257, 1009})
      for (std::int64_t k : {std::int64_t{1}, std::min<std::int64_t>(n, 5), std::min<std::int64_t>(n, 300)}) check(0.0f, 3, n, k);
    check(0.0, 2, 600, 600);
    check(tw::f16(0.0f), 2, 600, 17);
    check(tw::bf16(0.0f), 2, 600, 17);
    check(std::int8_t{}, 2, 1000, 300);
    check(std::uint64_t{}, 2, 600, 17);
    Array<int, 3> x(device, {2, 3, 50}, 1, Placement::reversed), values(device, {2, 3, 4}, 2, Placement::padded),
        indices(device, {2, 3, 4}, 3, Placement::reversed);
    kernels::top_k(x.view(), 4, values.view(), indices.view());
    const auto in = x.values(), out = values.values(), places = indices.values();
    for (std::size_t i = 0; i < out.size(); ++i) CHECK(in[i / 4 * 50 + static_cast<std::size_t>(places[i])] == out[i]);
    CHECK(values.gaps_untouched());
  });
}
