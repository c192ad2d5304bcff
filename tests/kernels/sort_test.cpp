// Sorts of whole arrays against std::stable_sort: lengths, types, strides, order of equals, and mistakes.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "tests/kernels/mistakes.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

namespace {

/// 0, 1, odd, prime, around a tile, and long enough for several programs.
std::vector<std::int64_t> lengths_to_sort(const tw::Device& device) {
  if (is_gpu(device)) return {0, 1, 7, 1023, 1025, 9001};
  return {0, 1, 2, 31, 997, 1023, 1024, 1025, 4095, 4096, 4097, 100003};
}

/// Keys of few and many values, NaN and both zeros among the floats.
template <class T>
std::vector<T> keys_of(std::int64_t n) {
  std::vector<T> keys(static_cast<std::size_t>(n));
  std::mt19937_64 engine(static_cast<unsigned>(n) + 1);
  for (T& k : keys) {
    const std::uint64_t bits = engine();
    if constexpr (std::is_integral_v<T>)
      k = static_cast<T>(bits % 3 == 0 ? bits % 5 : bits >> 8);
    else if (bits % 7 == 0)
      k = T(bits % 2 == 0 ? -0.0f : 0.0f);
    else if (bits % 11 == 0)
      k = T(std::numeric_limits<float>::quiet_NaN());
    else
      k = T(static_cast<float>(static_cast<std::int64_t>(bits) >> 44) / 16);
  }
  return keys;
}

template <class T>
void check_sort(tw::Device& device, std::int64_t n, bool descending, std::int64_t stride, bool with_values) {
  INFO("n = ", n, ", descending = ", descending, ", stride = ", stride, ", with_values = ", with_values, ", ", sizeof(T), " bytes");
  const std::vector<T> keys = keys_of<T>(n);
  std::vector<int> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<T> spread(static_cast<std::size_t>(n * stride + 1), T(1));
  for (std::size_t i = 0; i < keys.size(); ++i) spread[i * static_cast<std::size_t>(stride)] = keys[i];
  auto sorted = device.upload(spread);
  auto values = device.upload(order);
  if (with_values)
    kernels::sort(tw::view(sorted, {n}, {stride}), tw::view(values, {n}), descending);
  else
    kernels::sort(tw::view(sorted, {n}, {stride}), {}, descending);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const T x = keys[static_cast<std::size_t>(a)], y = keys[static_cast<std::size_t>(b)];
    if (x != x || y != y) return x == x && y != y;
    const auto less = [](T l, T r) {
      if constexpr (std::is_integral_v<T>)
        return l < r;
      else
        return number(l) < number(r);
    };
    return descending ? less(y, x) : less(x, y);
  });
  if (with_values) CHECK(values.download() == order);
  const auto got = sorted.download();
  bool same = true;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const T want = keys[static_cast<std::size_t>(order[i])];
    same = same && std::memcmp(&got[i * static_cast<std::size_t>(stride)], &want, sizeof want) == 0;
    for (std::size_t gap = 1; gap < static_cast<std::size_t>(stride); ++gap)
      same = same && got[i * static_cast<std::size_t>(stride) + gap] == T(1);
  }
  CHECK(same);
}

}  // namespace

TEST_CASE("sort: lengths, and values that move with their keys") {
  on_every_device([](tw::Device& device) {
    for (std::int64_t n : lengths_to_sort(device))
      for (const bool with_values : {false, true})
        check_sort<std::uint32_t>(device, n, false, 1, with_values), check_sort<float>(device, n, true, 1, with_values);
  });
}

TEST_CASE("sort: types, both directions and strides") {
  on_every_device([](tw::Device& device) {
    const auto check = [&]<class T>(T) {
      check_sort<T>(device, 1031, false, 3, true);
      check_sort<T>(device, 1031, true, 1, false);
    };
    check(std::int8_t()), check(std::uint8_t()), check(std::int16_t()), check(std::uint16_t()), check(std::int32_t());
    check(std::int64_t()), check(std::uint64_t()), check(tw::f16()), check(tw::bf16()), check(float()), check(double());
  });
}

// A mistake and its check stand on one line:
// clang-format off
TEST_CASE("mistakes: sort") {
  tw::Device device = tw::Device::open("cpu");
  auto keys = device.upload(std::vector<int>(8, 1)), values = device.upload(std::vector<int>(8)), counts = device.allocate<int>(4);
  CHECK_MISTAKE("sort: 'values' is [4]; the extent of its axis 0 must be N = 8 of 'keys', which is [8]", kernels::sort(keys, counts));
  CHECK_MISTAKE("sort: 'keys', a result, shares memory with 'values'", kernels::sort(keys, keys));
  CHECK_MISTAKE("sort: elements of 'keys' share memory", kernels::sort(tw::view(keys, {8}, {0})));
  CHECK_MISTAKE("sort: 'keys' is empty", kernels::sort(tw::View<int, 1>()));
}
// clang-format on
