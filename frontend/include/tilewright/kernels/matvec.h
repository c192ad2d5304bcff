// The product of a matrix and a vector.
#pragma once
#include "tilewright/kernels/detail/array.h"
#include "tilewright/kernels/matmul.h"

namespace tilewright::kernels {

/// y = a x for bm rows: [batch, M, K], [batch, K], [batch, M]. Each lane adds its own products; the lanes are added at the end. Every
/// element of a is read once, so memory bandwidth decides on the time.
template <class T, class Y>
void matvec_kernel(View<const T, 3> a, View<const T, 2> x, View<Y, 2> y, int bm, int bk) {
  using S = Accumulator<T>;
  const I32 tiles = cdiv(a.extent(1), bm).template to<std::int32_t>();
  const I32 batch = program_id(0) / tiles, i = program_id(0) % tiles * bm;
  const auto rows = a.at(batch);
  const auto vector = x.at(batch);
  auto sums = zeros<S>({bm, bk});
  for (auto k : range(0, rows.extent(1).template to<std::int32_t>(), bk))
    sums += rows.load({i, k}, {bm, bk}).template to<S>() * row(vector.load({k}, {bk}).template to<S>());
  y.at(batch).store({i}, sum(sums, 1).template to<Y>());
}

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

template <class A, class X, class Y, int R, int V>
TW_PER_MODULE void launch_matvec(const View<A, R>& a, const View<X, V>& x, const View<Y, V>& y, const Options& options, const Here& at) {
  using T = std::remove_const_t<A>;
  static_assert(R == 2 || R == 3, "a matrix has 2 axes, or 3 with a batch");
  static_assert(kIsFactor<A> && std::is_same_v<T, std::remove_const_t<X>>, "a and x have one element type, one that matmul takes");
  static_assert(kHoldsProduct<Y, A>, "y holds what the product is added up in: float, f16 or bf16; double for double; int for int8_t");
  ArgumentCheck check("matvec", at);
  check.input("a", a);
  check.input("x", x);
  check.output("y", y);
  check.equal("x", -1, "K", "a", -1);
  check.equal("y", -1, "M", "a", -2);
  const std::int64_t batch = R == 3 ? check.broadcast({"a", "x"}, "y", 0) : 1, m = extent_of(a, -2);
  check.options(options);
  check.finish();
  if (batch * m == 0) return;
  static const Kernel kernel("matvec", matvec_kernel<T, Y>);
  const MatvecShape shape{.batch = batch, .m = m, .k = extent_of(a, -1), .element_bytes = sizeof(T)};
  launch_tuned(check, shape, options, [&](const Options& o) {
    const int bm = o.configuration->bm, bk = o.configuration->bk;
    kernel(launch_of(batch * tilewright::cdiv(m, std::int64_t{bm}), o), with_batch<3>(a, batch, at), with_batch<2>(x, batch, at),
           with_batch<2>(y, batch, at), bm, bk, at);
  });
}

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// y = a x. a: [M, K], x: [K], y: [M], or each with a leading batch axis, whose extent in a and x may also be 1. Element types as for
/// matmul.
template <class A, int R, host::ArrayOf<R - 1> X, host::ArrayOf<R - 1> Y>
void matvec(const View<A, R>& a, X&& x, Y&& y, const Options& options = {}, Here at = Here::current()) {
  host::launch_matvec(a, host::view_of(x, at), host::view_of(y, at), options, at);
}

}  // namespace tilewright::kernels
