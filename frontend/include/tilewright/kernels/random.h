// Arrays of random numbers, and dropout. Element n in row-major order depends only on the seed and on n, not on strides, tiles or device.
#pragma once
#include <bit>

#include "tilewright/kernels/elements.h"

namespace tilewright::kernels {

/// The number in row-major order of each element of a tile in its array.
inline I64 element_numbers(const ElementOrigin& origin, const I64& rows, const I64& columns, int bm, int bn) {
  const auto row = column(origin.i.to<std::int64_t>() + arange(0, bm)), col = tilewright::row(origin.j.to<std::int64_t>() + arange(0, bn));
  return (origin.matrix * rows + row) * columns + col;
}

/// y = low + u * (high - low) with u uniform in [0, 1), from `least` to `greatest`; or low + n * high with n normally distributed.
template <class Y, int R>
void random_kernel(View<Y, R> y, U64 seed, F64 low, F64 high, F64 least, F64 greatest, int bm, int bn, bool normal) {
  using S = Accumulator<Y>;
  const I64 rows = y.extent(R - 2), columns = y.extent(R - 1);
  const ElementOrigin origin = element_origin(rows, columns, bm, bn);
  const I64 n = element_numbers(origin, rows, columns, bm, bn);
  const auto drawn = (normal ? randn(seed, n) : rand(seed, n)).template to<S>();
  const auto first = low.template to<S>(), second = high.template to<S>();
  // Sums and casts round. These bounds are numbers of type Y, so rounding cannot go past them.
  const auto number =
      normal ? first + drawn * second : clamp(first + drawn * (second - first), least.template to<S>(), greatest.template to<S>());
  matrix_of(y, origin.matrix).store({origin.i, origin.j}, number.template to<Y>());
}

/// y = x / (1 - p) where the element's random number is at least p, else 0.
template <class T, int R>
void dropout_kernel(View<const T, R> x, View<T, R> y, F32 p, F64 scale, U64 seed, int bm, int bn) {
  using S = Accumulator<T>;
  const I64 rows = y.extent(R - 2), columns = y.extent(R - 1);
  const ElementOrigin origin = element_origin(rows, columns, bm, bn);
  const I64 n = element_numbers(origin, rows, columns, bm, bn);
  const auto v = matrix_of(x, origin.matrix).load({origin.i, origin.j}, {bm, bn}).template to<S>();
  const auto kept = rand(seed, n) >= p;
  matrix_of(y, origin.matrix).store({origin.i, origin.j}, where(kept, v * scale.template to<S>(), S(0)).template to<T>());
}

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

/// The neighbour of y among the numbers of type Y, towards +inf or -inf.
template <class Y>
Y next_number(Y y, bool up) {
  using Bits = std::conditional_t<sizeof(Y) == 2, std::uint16_t, std::conditional_t<sizeof(Y) == 4, std::uint32_t, std::uint64_t>>;
  constexpr auto kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Y) - 1));
  // Floats of one sign are ordered like their bits.
  auto bits = std::bit_cast<Bits>(y);
  if ((bits & ~kSign) == 0) return std::bit_cast<Y>(static_cast<Bits>(up ? 1 : kSign | 1));
  const bool is_positive = (bits & kSign) == 0;
  return std::bit_cast<Y>(static_cast<Bits>(up == is_positive ? bits + 1 : bits - 1));
}
/// The greatest number of type Y that is less than x, or at most x.
template <class Y>
double greatest_number(double x, bool less) {
  const auto fits = [&](Y y) {
    const auto value = static_cast<double>(static_cast<Accumulator<Y>>(y));
    return less ? value < x : value <= x;
  };
  Y y(static_cast<Accumulator<Y>>(x));  // close to x; it may be rounded twice
  while (!fits(y)) y = next_number(y, false);
  while (fits(next_number(y, true))) y = next_number(y, true);
  return static_cast<double>(static_cast<Accumulator<Y>>(y));
}

template <class Y, int R>
TW_PER_MODULE void launch_random(const char* name, const View<Y, R>& y, std::uint64_t seed, double low, double high, bool normal,
                                 const Options& options, const Here& at) {
  static_assert(kIsFloat<Y>, "random numbers are f16, bf16, float or double");
  ArgumentCheck check(name, at);
  check.output("y", y);
  const auto to = as_matrix(y, at);
  if (!std::isfinite(low) || !std::isfinite(high) || high < (normal ? 0 : low))
    check.fail(normal ? "mean = " + std::to_string(low) + ", deviation = " + std::to_string(high) +
                            "; they must be finite, and the deviation not negative"
                      : "low = " + std::to_string(low) + ", high = " + std::to_string(high) +
                            "; they must be finite, and low not greater than high");
  check.options(options);
  check.finish();
  const ElementsShape shape = elements_of(to, normal ? 100 : 50);
  if (is_empty(shape)) return;
  static const Kernel kernel("random", random_kernel<Y, (R > 1 ? R : 2)>);
  double least = -greatest_number<Y>(-low, false), greatest = greatest_number<Y>(high, true);
  if (least > greatest) least = greatest = low;  // no number of the type is in the range; use the one nearest to `low`
  launch_tuned(check, shape, options, [&](const Options& o) {
    kernel(tiles_launch_of(shape, o), to, seed, low, high, least, greatest, o.configuration->bm, o.configuration->bn, normal, at);
  });
}

template <class X, class Y, int R>
TW_PER_MODULE void launch_dropout(const View<X, R>& x, const View<Y, R>& y, double p, std::uint64_t seed, const Options& options,
                                  const Here& at) {
  static_assert(kIsFloat<Y> && std::is_same_v<std::remove_const_t<X>, Y>, "x and y have one element type: f16, bf16, float or double");
  ArgumentCheck check("dropout", at);
  check.input("x", x);
  check.output("y", y);
  check.same_shape("y", "x");
  if (!(p >= 0 && p <= 1)) check.fail("p = " + std::to_string(p) + "; it must be 0 to 1");
  const auto from = as_matrix(x, at);
  const auto to = as_matrix(y, at);
  check.options(options);
  check.finish();
  const ElementsShape shape = elements_of(to, 50);
  if (is_empty(shape)) return;
  static const Kernel kernel("dropout", dropout_kernel<Y, (R > 1 ? R : 2)>);
  launch_tuned(check, shape, options, [&](const Options& o) {
    kernel(tiles_launch_of(shape, o), from, to, p, p < 1 ? 1 / (1 - p) : 0.0, seed, o.configuration->bm, o.configuration->bn, at);
  });
}

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// Uniform in [low, high), in 2^24 steps. A type with fewer digits rounds, but not to `high`; if it has no number in the range, every
/// element is the number nearest to `low`.
template <host::WholeArray Y>
void random_uniform(Y&& y, std::uint64_t seed, double low = 0, double high = 1, const Options& options = {}, Here at = Here::current()) {
  host::launch_random("random_uniform", host::view_of(y, at), seed, low, high, false, options, at);
}
/// Normally distributed with this mean and deviation.
template <host::WholeArray Y>
void random_normal(Y&& y, std::uint64_t seed, double mean = 0, double deviation = 1, const Options& options = {},
                   Here at = Here::current()) {
  host::launch_random("random_normal", host::view_of(y, at), seed, mean, deviation, true, options, at);
}
/// y = x / (1 - p), or 0 with probability p. The same seed drops the same elements, so the gradient is dropout(dy, dx, p, seed).
template <host::WholeArray X, host::ArrayLike<X> Y>
void dropout(X&& x, Y&& y, double p, std::uint64_t seed, const Options& options = {}, Here at = Here::current()) {
  host::launch_dropout(host::view_of(x, at), host::view_of(y, at), p, seed, options, at);
}

}  // namespace tilewright::kernels
