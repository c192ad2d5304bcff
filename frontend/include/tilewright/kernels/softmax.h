// Softmax along the last axis, its logarithm, and its gradient.
#pragma once
#include "tilewright/kernels/rows.h"

namespace tilewright::kernels {

/// The largest element of a row, and the sum of exp(x - largest).
template <class S>
struct SoftmaxSums {
  Tile<S> largest, total;
};

/// A row that fits in a tile takes one step. Longer rows take one pass, with sums that are rescaled when a larger element is found.
template <class T>
SoftmaxSums<Accumulator<T>> softmax_sums(const View<const T, 1>& x, int block, bool fits) {
  using S = Accumulator<T>;
  if (fits) {
    const auto v = x.load({0}, {block}, -inf).template to<S>();
    const auto largest = max(v, 0);
    // In a row of -inf only, exp(-inf - -inf) is NaN, like the quotient 0 / 0.
    return {largest, sum(exp(v - largest), 0)};
  }
  auto largest = full<S>({block}, -inf), total = zeros<S>({block});
  for (auto i : range(0, x.extent(0), block)) {
    const auto v = x.load({i}, {block}, -inf).template to<S>();
    const auto larger = maximum(largest, v);
    // A lane that has seen only -inf must have the sum 0, not NaN.
    const auto shift = where(larger == -inf, S(0), larger);
    total = total * exp(largest - shift) + exp(v - shift);
    largest = larger;
  }
  const auto most = max(largest, 0);
  return {most, sum(total * exp(largest - most), 0)};
}

/// y = softmax(x), or its logarithm. Each program computes one row.
template <class T, int R>
void softmax_kernel(View<const T, R> x, View<T, R> y, int block, bool fits, bool logarithm) {
  using S = Accumulator<T>;
  const I64 row = program_id(0).to<std::int64_t>();
  const auto in = row_of(x, row);
  const auto out = row_of(y, row);
  if (fits) {
    const auto v = in.load({0}, {block}, -inf).template to<S>();
    out.store({0}, (logarithm ? tilewright::log_softmax(v, 0) : tilewright::softmax(v, 0)).template to<T>());
    return;
  }
  const auto sums = softmax_sums<T>(in, block, fits);
  for (auto i : range(0, in.extent(0), block)) {
    // The difference is exact near the maximum, whereas maximum + logarithm would be rounded like the maximum.
    const auto v = in.load({i}, {block}, -inf).template to<S>() - sums.largest;
    out.store({i}, (logarithm ? v - log(sums.total) : exp(v) / sums.total).template to<T>());
  }
}

/// dx = y * (dy - sum(y * dy)), where y is the softmax.
template <class T, int R>
void softmax_backward_kernel(View<const T, R> y, View<const T, R> dy, View<T, R> dx, int block) {
  using S = Accumulator<T>;
  const I64 row = program_id(0).to<std::int64_t>();
  const auto out = row_of(y, row), gradient = row_of(dy, row);
  const auto to = row_of(dx, row);
  auto products = zeros<S>({block});
  for (auto i : range(0, out.extent(0), block))
    products += out.load({i}, {block}).template to<S>() * gradient.load({i}, {block}).template to<S>();
  const auto total = sum(products, 0);
  for (auto i : range(0, out.extent(0), block)) {
    const auto v = out.load({i}, {block}).template to<S>(), g = gradient.load({i}, {block}).template to<S>();
    to.store({i}, (v * (g - total)).template to<T>());
  }
}

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

template <class X, class Y, int R>
TW_PER_MODULE void launch_softmax(const char* name, const View<X, R>& x, const View<Y, R>& y, bool logarithm, const Options& options,
                                  const Here& at) {
  static_assert(kIsFloat<X> && std::is_same_v<std::remove_const_t<X>, Y>, "x and y have one element type: f16, bf16, float or double");
  ArgumentCheck check(name, at);
  check.input("x", x);
  check.output("y", y);
  check.same_shape("y", "x");
  check.options(options);
  check.finish();
  const RowsShape shape = rows_of(x, {.passes = 2, .exponentials = 1, .once = true});
  if (is_empty(shape)) return;
  static const Kernel kernel("softmax", softmax_kernel<Y, R>);
  launch_tuned(check, shape, options, [&](const Options& o) {
    const int block = o.configuration->bn;
    kernel(launch_of(shape.rows, o), x, y, block, block >= shape.n, logarithm, at);
  });
}

template <class Y, class DY, class DX, int R>
TW_PER_MODULE void launch_softmax_backward(const View<Y, R>& y, const View<DY, R>& dy, const View<DX, R>& dx, const Options& options,
                                           const Here& at) {
  static_assert(kIsFloat<Y> && std::is_same_v<std::remove_const_t<Y>, DX> && std::is_same_v<std::remove_const_t<DY>, DX>,
                "y, dy and dx have one element type: f16, bf16, float or double");
  ArgumentCheck check("softmax_backward", at);
  check.input("y", y);
  check.input("dy", dy);
  check.output("dx", dx);
  check.same_shape("dy", "y");
  check.same_shape("dx", "y");
  check.options(options);
  check.finish();
  const RowsShape shape = rows_of(y, {.arrays = 2, .passes = 2});
  if (is_empty(shape)) return;
  static const Kernel kernel("softmax_backward", softmax_backward_kernel<DX, R>);
  launch_tuned(check, shape, options, [&](const Options& o) { kernel(launch_of(shape.rows, o), y, dy, dx, o.configuration->bn, at); });
}

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// y = exp(x - max) / sum(exp(x - max)) along the last axis.
template <host::WholeArray X, host::ArrayLike<X> Y>
void softmax(X&& x, Y&& y, const Options& options = {}, Here at = Here::current()) {
  host::launch_softmax("softmax", host::view_of(x, at), host::view_of(y, at), false, options, at);
}
/// y = x - max - log(sum(exp(x - max))) along the last axis.
template <host::WholeArray X, host::ArrayLike<X> Y>
void log_softmax(X&& x, Y&& y, const Options& options = {}, Here at = Here::current()) {
  host::launch_softmax("log_softmax", host::view_of(x, at), host::view_of(y, at), true, options, at);
}
/// dx = y * (dy - sum(y * dy)) along the last axis: the gradient of y = softmax(x).
template <host::WholeArray Y, host::ArrayLike<Y> DY, host::ArrayLike<Y> DX>
void softmax_backward(Y&& y, DY&& dy, DX&& dx, const Options& options = {}, Here at = Here::current()) {
  host::launch_softmax_backward(host::view_of(y, at), host::view_of(dy, at), host::view_of(dx, at), options, at);
}

}  // namespace tilewright::kernels
