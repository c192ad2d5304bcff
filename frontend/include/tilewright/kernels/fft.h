// Discrete Fourier transforms of power-of-two length.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

#include "tilewright/kernels/configuration.h"
#include "tilewright/kernels/detail/arguments.h"
#include "tilewright/ops.h"

namespace tilewright::kernels {

/// A tile of complex numbers.
template <class T>
struct Complex {
  Tile<T> re, im;
  friend Complex operator+(const Complex& a, const Complex& b) { return {a.re + b.re, a.im + b.im}; }
  friend Complex operator-(const Complex& a, const Complex& b) { return {a.re - b.re, a.im - b.im}; }
  friend Complex operator*(const Complex& a, const Complex& b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
};

/// exp(sign 2 pi i k / n) for 0 <= k < n = 2^bits. The angle is reduced to an eighth of a turn in integers, so it is rounded only once.
template <class T>
Complex<T> unit_root(const I64& k, const I64& bits, int sign) {
  const I64 n = I64(1) << bits, quarter = (4 * k + n / 2) >> bits, rest = 4 * k - (quarter << bits);
  const Tile<T> angle = rest.template to<T>() / n.template to<T>() * T(std::numbers::pi / 2);
  const Tile<T> c = cos(angle), s = sin(angle);
  const Bool is_odd = quarter == 1 || quarter == 3, is_left = quarter == 1 || quarter == 2, is_below = quarter == 2 || quarter == 3;
  const Tile<T> re = where(is_odd, s, c), im = where(is_odd, c, s) * T(sign);
  return {where(is_left, -re, re), where(is_below, -im, im)};
}

/// w, w^2, ..., w^count. Each power is the product of two powers of half the exponent, so errors grow with the logarithm of the exponent.
template <class T>
std::vector<Complex<T>> powers_of(const Complex<T>& w, int count) {
  std::vector<Complex<T>> powers{w};
  for (std::size_t e = 2; e <= static_cast<std::size_t>(count); ++e) powers.push_back(powers[e / 2 - 1] * powers[e - e / 2 - 1]);
  return powers;
}

/// Transforms the tiles of v, whose number is a power of two; each element of the tiles is a transform of its own.
template <class T>
std::vector<Complex<T>> transform_of(const std::vector<Complex<T>>& v, int sign) {
  const std::size_t n = v.size(), half = n / 2;
  if (n == 1) return v;
  std::vector<Complex<T>> even, odd, result(n);
  for (std::size_t i = 0; i < n; i += 2) even.push_back(v[i]), odd.push_back(v[i + 1]);
  even = transform_of(even, sign), odd = transform_of(odd, sign);
  for (std::size_t k = 0; k < half; ++k) {
    const double angle = sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    const T c = static_cast<T>(std::cos(angle)), s = static_cast<T>(std::sin(angle));
    if (4 * k == n)
      odd[k] = {odd[k].im * T(-sign), odd[k].re * T(sign)};
    else if (k > 0)
      odd[k] = {odd[k].re * c - odd[k].im * s, odd[k].re * s + odd[k].im * c};
    result[k] = even[k] + odd[k];
    result[k + half] = even[k] - odd[k];
  }
  return result;
}

/// The compile-time constants of a pass.
struct FftPass {
  int radix, bn;                  // elements of a small transform, and number of transforms in one program
  int sign;                       // sign of the exponent
  bool is_first;                  // `done` is 1
  bool is_in_one;                 // bn divides n / radix: a program has transforms of one element of the batch
  bool is_contiguous;             // and divides `done`: the transforms of a program follow each other in y
  bool x_is_packed, y_is_packed;  // the numbers of a row lie one after another
};

/// One pass of a Stockham transform: x holds transforms of `done` elements; y gets transforms of done * radix elements, times `scale`. The
/// elements of a transform are contiguous in y; its radix parts are n / radix apart in x, so no reordering is needed at the end. All of these
/// are powers of two: stride_bits and done_bits are the logarithms of n / radix and of `done`.
template <class T>
void fft_kernel(View<const T, 3> x, View<T, 3> y, I64 stride_bits, I64 done_bits, Tile<T> scale, FftPass pass) {
  const I64 stride = I64(1) << stride_bits, done = I64(1) << done_bits;
  const I64 first = program_id(0).to<std::int64_t>() * pass.bn, each = arange(0, pass.bn).to<std::int64_t>();
  const I64 at = first + each, batch = (pass.is_in_one ? first : at) >> stride_bits;
  const I64 j = pass.is_in_one ? (first & (stride - 1)) + each : at & (stride - 1);
  const I64 before = pass.is_contiguous ? (first & (stride - 1)) & -done : j & -done;  // done * the number of whole transforms before
  const I64 k = j - before, to = before * pass.radix + k;
  const Bool inside = batch < x.extent(0);
  // The distance of packed numbers is known at compile time, so that their parts are loaded in vectors.
  const auto pointer_to = [&](auto& a, bool is_packed, const I64& i, int part) {
    return is_packed ? a.pointer({batch, 0, part}) + 2 * i : a.pointer({batch, i, part});
  };
  std::vector<Complex<T>> v, roots;
  const int radix_bits = std::countr_zero(static_cast<unsigned>(pass.radix));
  if (!pass.is_first) roots = powers_of(unit_root<T>(k, done_bits + radix_bits, pass.sign), pass.radix - 1);
  for (int r = 0; r < pass.radix; ++r) {
    const I64 from = j + stride * r;
    v.push_back({load(pointer_to(x, pass.x_is_packed, from, 0), inside), load(pointer_to(x, pass.x_is_packed, from, 1), inside)});
    if (r > 0 && !pass.is_first) v.back() = v.back() * roots[static_cast<std::size_t>(r - 1)];
  }
  v = transform_of(v, pass.sign);
  for (int r = 0; r < pass.radix; ++r) {
    const I64 element = to + done * r;
    store(pointer_to(y, pass.y_is_packed, element, 0), v[static_cast<std::size_t>(r)].re * scale, inside);
    store(pointer_to(y, pass.y_is_packed, element, 1), v[static_cast<std::size_t>(r)].im * scale, inside);
  }
}

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

constexpr int kMostFftBits = 4;  // bits of the radix of one pass: 16 complex numbers fit in registers

template <class T>
bool is_packed(const View<T, 3>& a) {
  return stride_of(a, 1) == 2 && stride_of(a, 2) == 1;
}

/// The number of transforms of a program, at most `most`. On hosts those of a vector should follow each other in memory, so a program has
/// no more than a part, if that has enough of them.
inline int transforms_of_program(int most, bool is_host, std::int64_t stride, std::int64_t done) {
  constexpr std::int64_t kEnough = 16;
  for (const std::int64_t part : {stride, done})
    if (is_host && part >= kEnough) most = static_cast<int>(std::min<std::int64_t>(most, part));
  return most;
}

/// `options` must have a configuration.
template <class X, class T>
TW_PER_MODULE void launch_fft(const ArgumentCheck& check, const View<X, 3>& x, const View<T, 3>& y, bool inverse, const Options& options,
                              const Here& at) {
  const std::int64_t batch = extent_of(x, 0), n = extent_of(x, 1);
  const int bits = std::countr_zero(static_cast<std::uint64_t>(n));
  const int passes = std::max(1, tilewright::cdiv(bits, kMostFftBits));
  Buffer<T> memory = check.device().template allocate<T>(passes > 1 ? 2 * batch * n : 0, at);
  View<T, 3> between = y;
  if (passes > 1) between = view(memory, {batch, n, 2}, at);
  View<const T, 3> from = x;
  int done_bits = 0;
  for (int pass = 0; pass < passes; ++pass) {
    const bool is_last = pass + 1 == passes;
    const int radix_bits = bits * (pass + 1) / passes - bits * pass / passes, radix = 1 << radix_bits;
    const std::int64_t stride = n >> radix_bits, done = std::int64_t{1} << done_bits;
    const int bn = transforms_of_program(options.configuration->bn, is_host(check.device()), stride, done);
    const View<T, 3> to = (passes - pass) % 2 == 1 ? y : between;  // the last pass writes y; the passes before it alternate
    const std::int64_t transforms = batch * stride;
    static const Kernel kernel("fft", fft_kernel<T>);
    const bool is_in_one = stride % bn == 0;
    const FftPass constants{radix, bn, inverse ? 1 : -1, pass == 0, is_in_one, is_in_one && done % bn == 0, is_packed(from), is_packed(to)};
    kernel(launch_of(tilewright::cdiv(transforms, std::int64_t{bn}), options), from, to, std::int64_t{bits - radix_bits},
           std::int64_t{done_bits}, is_last && inverse ? static_cast<T>(1.0 / static_cast<double>(n)) : T(1), constants, at);
    from = to;
    done_bits += radix_bits;
  }
}

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// y[b, k] = the sum over j of x[b, j] exp(-2 pi i j k / n), for each row of a batch. `inverse` uses exp(+2 pi i j k / n) and divides by
/// n. x and y: [batch, n, 2] or [n, 2], real and imaginary parts adjacent along the last axis; float or double; n a power of two from 1 to
/// 2^28. Any strides; y must not share memory with x.
template <class X, class Y, int R>
void fft(const View<X, R>& x, const View<Y, R>& y, bool inverse = false, const Options& options = {}, Here at = Here::current()) {
  static_assert(OneOf<Y, float, double> && std::is_same_v<std::remove_const_t<X>, Y>, "x and y have one element type: float or double");
  static_assert(R == 2 || R == 3, "x and y are [batch, n, 2] or [n, 2]");
  host::ArgumentCheck check("fft", at);
  check.input("x", x);
  check.output("y", y);
  if (host::extent_of(x, -1) != 2)
    check.fail("the last extent of 'x' is " + std::to_string(host::extent_of(x, -1)) + "; it must be 2, for real and imaginary parts");
  check.same_shape("y", "x");
  check.at_most("x", -2, std::int64_t{1} << 28);
  const std::int64_t n = host::extent_of(x, -2);
  if (!std::has_single_bit(static_cast<std::uint64_t>(n)))
    check.fail("the extent of axis " + std::to_string(R - 2) + " of 'x' is " + std::to_string(n) +
               "; it must be a power of two from 1 to 2^28");
  check.options(options);
  check.finish();
  const std::int64_t batch = R == 3 ? host::extent_of(x, 0) : 1;
  if (batch == 0) return;
  const host::FftShape shape{.transforms = batch * std::max<std::int64_t>(n >> host::kMostFftBits, 1), .element_bytes = sizeof(Y)};
  host::launch_tuned(check, shape, options, [&](const Options& o) {
    host::launch_fft(check, host::with_batch<3>(x, batch, at), host::with_batch<3>(y, batch, at), inverse, o, at);
  });
}

}  // namespace tilewright::kernels
