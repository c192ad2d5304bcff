// The feed-forward part of a transformer: two products, one of which gates the other, and a product back.
#pragma once
#include "tilewright/kernels/matmul.h"

namespace tilewright::kernels {

/// hidden = silu(x wg) * (x wu), both products in one loop, so that x is read once. Shapes: [M, K], [K, F], [K, F], [M, F].
template <class T>
void gated_kernel(View<const T, 2> x, View<const T, 2> wg, View<const T, 2> wu, View<T, 2> hidden, ProductTiles t, Precision precision) {
  using S = Accumulator<T>;
  const auto [batch, i, j] = product_origin(program_id(0), hidden.extent(0), hidden.extent(1), t);
  auto gate = zeros<S>({t.bm, t.bn}), up = zeros<S>({t.bm, t.bn});
  for (auto k : range(0, x.extent(1).template to<std::int32_t>(), t.bk)) {
    const auto tile = x.load({i, k}, {t.bm, t.bk});
    gate = dot(tile, wg.load({k, j}, {t.bk, t.bn}), gate, precision);
    up = dot(tile, wu.load({k, j}, {t.bk, t.bn}), up, precision);
  }
  hidden.store({i, j}, (silu(gate) * up).template to<T>());
}

/// out = (silu(x wg) * (x wu)) wd. x: [M, K], wg and wu: [K, F], wd: [F, N], out: [M, N]. The hidden values have the element type of x.
template <class X, class G, class U, class D, class O>
TW_PER_MODULE void gated_mlp(const View<X, 2>& x, const View<G, 2>& wg, const View<U, 2>& wu, const View<D, 2>& wd, const View<O, 2>& out,
                             const Options& options = {}, Here at = Here::current()) {
  using T = std::remove_const_t<X>;
  static_assert(OneOf<T, f16, bf16, float, double> && std::is_same_v<T, O> && std::is_same_v<std::remove_const_t<G>, T> &&
                    std::is_same_v<std::remove_const_t<U>, T> && std::is_same_v<std::remove_const_t<D>, T>,
                "x, the weights and out have one element type: f16, bf16, float or double");
  host::ArgumentCheck check("gated_mlp", at);
  check.input("x", x);
  check.input("wg", wg);
  check.input("wu", wu);
  check.input("wd", wd);
  check.output("out", out);
  check.equal("wg", 0, "K", "x", 1);
  check.same_shape("wu", "wg");
  check.equal("wd", 0, "F", "wg", 1);
  check.equal("out", 0, "M", "x", 0);
  check.equal("out", 1, "N", "wd", 1);
  check.options(options);
  check.finish();
  const std::int64_t m = host::extent_of(x, 0), f = host::extent_of(wg, 1), k = host::extent_of(x, 1);
  Buffer<T> memory = check.device().template allocate<T>(m * f, at);
  const View<T, 2> hidden = view(memory, {m, f}, at);
  const host::ProductShape shape{.batch = 1,
                                 .m = m,
                                 .n = f,
                                 .k = k,
                                 .element_bytes = sizeof(T),
                                 .products = 2,
                                 .a_alignment = host::row_alignment(x),
                                 .b_alignment = std::min(host::row_alignment(wg), host::row_alignment(wu)),
                                 .b_is_transposed = host::is_transposed(wg) || host::is_transposed(wu)};
  if (!host::is_empty(shape)) {
    static const Kernel kernel("gated", gated_kernel<T>);
    host::launch_tuned(check, shape, options, [&](const Options& o) {
      const Configuration& c = *o.configuration;
      kernel(host::staged_launch_of(host::programs_of(shape, c), o), x, wg, wu, hidden, host::tiles_of(shape, c), o.precision, at);
    });
  }
  matmul(hidden, wd, out, options, at);
}

}  // namespace tilewright::kernels
