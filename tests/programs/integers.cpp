// Integer operators of every type, at their edges, against wrapping arithmetic in plain C++.
#include <algorithm>
#include <set>

#include "tests/programs/programs.h"

namespace {

using namespace programs;
using tw::arange, tw::load, tw::store;

/// Every operator on integers of one type, and what C++ gives for it in wrapping arithmetic.
template <class T>
void integer_operators(tw::Ptr<const T> x, tw::Ptr<const T> y, tw::Ptr<T> out, tw::Ptr<bool> truth, int n) {
  auto i = arange(0, n);
  auto a = load(x + i), b = load(y + i);
  int row = 0;
  for (const tw::Tile<T>& v : {a + b,
                               a - b,
                               a * b,
                               a / b,
                               a % b,
                               a & b,
                               a | b,
                               a ^ b,
                               a << b,
                               a >> b,
                               -a,
                               ~a,
                               tw::abs(a),
                               tw::minimum(a, b),
                               tw::maximum(a, b),
                               tw::clamp(a, 3, 100),
                               a + 1,
                               1 - a,
                               a * 3,
                               a / 3,
                               a % 8,
                               100 / a,
                               a << 2,
                               a >> 1,
                               a & 15})
    store(out + row++ * n + i, v);
  row = 0;
  for (const tw::Bool& v : {a == b, a != b, a<b, a <= b, a> b, a >= b, a == 5, 5 < a, (a < b) && (a != 0), (a < b) || !(b < 3)})
    store(truth + row++ * n + i, v);
}

template <class T>
T divided(T a, T b) {
  if (b == 0) return static_cast<T>(-1);
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
  return static_cast<T>(a / b);
}
template <class T>
T rest(T a, T b) {
  if (b == 0) return a;
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
  return static_cast<T>(a % b);
}

template <class T>
void check_integer_operators(tw::Device& device) {
  using U = std::make_unsigned_t<T>;
  constexpr int n = 256, width = sizeof(T) * 8;
  auto x = random_bits<T>(n, 1), y = random_bits<T>(n, 2);
  for (int i = 0; i < 64; ++i) y[i] = static_cast<T>(i % (width + 4));  // shifts; and small divisors, 0 among them
  for (int i = 64; i < 80; ++i) x[i] = std::numeric_limits<T>::min(), y[i] = static_cast<T>(-1 - i % 2);
  for (int i = 80; i < 90; ++i) x[i] = y[i] = static_cast<T>(i - 84);
  auto out = device.allocate<T>(25 * n);
  auto truth = device.allocate<bool>(10 * n);
  const tw::Kernel kernel("integer_operators", integer_operators<T>);
  kernel({.grid = 1}, device.upload(x), device.upload(y), out, truth, n);
  std::vector<std::vector<T>> want(25);
  std::vector<std::vector<bool>> want_truth(10);
  for (int i = 0; i < n; ++i) {
    const T a = x[i], b = y[i];
    const U ua = static_cast<U>(a), ub = static_cast<U>(b);
    const bool far = ub >= U(width);
    const T sign = static_cast<T>(a < 0 ? -1 : 0);
    const std::uint64_t product = static_cast<std::uint64_t>(ua) * ub;
    int row = 0;
    for (T v : {T(U(ua + ub)),
                T(U(ua - ub)),
                T(U(product)),
                divided(a, b),
                rest(a, b),
                T(ua & ub),
                T(ua | ub),
                T(ua ^ ub),
                far ? T(0) : T(U(static_cast<std::uint64_t>(ua) << ub)),
                far ? sign : T(a >> ub),
                T(U(U(0) - ua)),
                T(U(~ua)),
                a < 0 ? T(U(U(0) - ua)) : a,
                std::min(a, b),
                std::max(a, b),
                std::min(std::max(a, T(3)), T(100)),
                T(U(ua + 1)),
                T(U(1 - ua)),
                T(U(std::uint64_t(ua) * 3)),
                T(a / 3),
                T(a % 8),
                divided(T(100), a),
                T(U(std::uint64_t(ua) << 2)),
                T(a >> 1),
                T(a & 15)})
      want[row++].push_back(v);
    row = 0;
    for (bool v : {a == b, a != b, a<b, a <= b, a> b, a >= b, a == 5, 5 < a, a < b && a != 0, a < b || !(b < 3)})
      want_truth[row++].push_back(v);
  }
  std::vector<T> flat;
  for (const auto& row : want) flat.insert(flat.end(), row.begin(), row.end());
  std::vector<bool> flat_truth;
  for (const auto& row : want_truth) flat_truth.insert(flat_truth.end(), row.begin(), row.end());
  check_same("integer operators (rows of 256)", out.download(), flat);
  check_same("comparisons (rows of 256)", truth.download(), flat_truth);
}

/// All quotients and rests of some numbers by others, each of them a scalar: as a tile, and in a loop.
template <class T>
void check_scalar_divisors(tw::Device& device) {
  using U = std::make_unsigned_t<T>;
  std::vector<T> numbers;
  for (int bit = 0; bit < static_cast<int>(8 * sizeof(T)); ++bit)
    for (int more : {-1, 0, 1}) numbers.push_back(static_cast<T>((U{1} << bit) + static_cast<U>(more)));
  for (U v : {U{0}, U{7}, U{10}, U{1000003}, U(~U{0} / 3), U(~U{0} / 2), U(~U{0} - 6), U(~U{0} - 999)})
    numbers.push_back(static_cast<T>(v));
  numbers.resize(256, T{3});
  const int n = 256;
  const tw::Kernel kernel("divided", [](tw::Ptr<const T> x, tw::Ptr<T> quotients, tw::Ptr<T> rests, tw::Ptr<T> ones, tw::Tile<T> d, int n) {
    auto i = arange(0, n);
    auto v = load(x + i);
    store(quotients + i, v / d);
    store(rests + i, v % d);
    for (auto k : tw::range(0, 4)) store(ones + k, load(x + k * 8) / d - load(x + k * 8) % d);
  });
  const tw::Kernel nonnegative("nonnegative", [](tw::Ptr<T> quotients, tw::Ptr<T> rests, tw::Tile<T> d, int n) {
    auto i = arange(0, n).template to<T>();
    store(quotients + arange(0, n), i / d);
    store(rests + arange(0, n), i % d);
  });
  auto x = device.upload(numbers), q = device.allocate<T>(n), r = device.allocate<T>(n), ones = device.allocate<T>(4);
  for (T d : std::set<T>(numbers.begin(), numbers.end())) {
    CAPTURE(d);
    std::vector<T> want_q(n), want_r(n), want_ones(4);
    for (int i = 0; i < n; ++i) want_q[i] = divided(numbers[i], d), want_r[i] = rest(numbers[i], d);
    for (int k = 0; k < 4; ++k) want_ones[k] = static_cast<T>(static_cast<U>(want_q[8 * k]) - static_cast<U>(want_r[8 * k]));
    kernel({.grid = 1}, x, q, r, ones, d, n);
    check_same("quotients", q.download(), want_q);
    check_same("rests", r.download(), want_r);
    check_same("in a loop", ones.download(), want_ones);
    for (int i = 0; i < n; ++i) want_q[i] = divided(static_cast<T>(i), d), want_r[i] = rest(static_cast<T>(i), d);
    nonnegative({.grid = 1}, q, r, d, n);
    check_same("quotients of what is not negative", q.download(), want_q);
    check_same("rests of what is not negative", r.download(), want_r);
  }
}

}  // namespace

TEST_CASE("integers: every operator and comparison") {
  on_every_device([](tw::Device& device) {
    check_integer_operators<std::int8_t>(device);
    check_integer_operators<std::int16_t>(device);
    check_integer_operators<std::int32_t>(device);
    check_integer_operators<std::int64_t>(device);
    check_integer_operators<std::uint8_t>(device);
    check_integer_operators<std::uint16_t>(device);
    check_integer_operators<std::uint32_t>(device);
    check_integer_operators<std::uint64_t>(device);
  });
}

TEST_CASE("integers: quotients of a whole tile by a scalar, for all that is near a power of two") {
  on_every_device([](tw::Device& device) {
    check_scalar_divisors<std::int32_t>(device);
    check_scalar_divisors<std::uint32_t>(device);
    check_scalar_divisors<std::int64_t>(device);
    check_scalar_divisors<std::uint64_t>(device);
  });
}
