// Products of 8- and 4-bit numbers with scales: one scale for each row and column, or one for 32 elements along K.
#pragma once
#include "tilewright/kernels/matmul.h"

namespace tilewright::kernels {

/// c = (a b) * a_scale * b_scale. a: [batch, M, K], a_scale: [batch, M], b: [batch, K, N], b_scale: [batch, N], c: [batch, M, N].
template <class T, class C>
void matmul_scaled_kernel(View<const T, 3> a, View<const float, 2> a_scale, View<const T, 3> b, View<const float, 2> b_scale, View<C, 3> c,
                          ProductTiles t) {
  const auto [batch, i, j] = product_origin(program_id(0), c.extent(1), c.extent(2), t);
  const I32 K = a.extent(2).template to<std::int32_t>();
  const auto sum = product_tile<T>(a.at(batch), b.at(batch), i, j, 0, K, t, Precision::standard, t.whole && t.whole_k).template to<float>();
  const auto rows = column(a_scale.at(batch).load({i}, {t.bm})), columns = row(b_scale.at(batch).load({j}, {t.bn}));
  c.at(batch).store({i, j}, (sum * rows * columns).template to<C>());
}

/// How many elements along K one element of T holds: a byte holds two e2m1.
template <class T>
inline constexpr int kPacked = std::is_same_v<T, std::uint8_t> ? 2 : 1;

/// c = a b in microscaling formats: 32 elements along K share a scale, a power of two in e8m0. a_scale: [batch, M, K / 32], b_scale:
/// [batch, N, K / 32].
template <class T, class C>
void matmul_blocks_kernel(View<const T, 3> a, View<const std::uint8_t, 3> a_scale, View<const T, 3> b, View<const std::uint8_t, 3> b_scale,
                          View<C, 3> c, ProductTiles t) {
  const auto [batch, i, j] = product_origin(program_id(0), c.extent(1), c.extent(2), t);
  const auto as = a.at(batch), bs = b.at(batch);
  const auto a_scales = a_scale.at(batch), b_scales = b_scale.at(batch);
  const I32 K = a.extent(2).template to<std::int32_t>() * kPacked<T>;
  const int stored = t.bk / kPacked<T>;
  auto sum = zeros<float>({t.bm, t.bn});
  for (auto k : range(0, K, t.bk))
    sum = dot_scaled(as.load({i, k / kPacked<T>}, {t.bm, stored}), a_scales.load({i, k / 32}, {t.bm, t.bk / 32}),
                     bs.load({k / kPacked<T>, j}, {stored, t.bn}), b_scales.load({j, k / 32}, {t.bn, t.bk / 32}), sum);
  c.at(batch).store({i, j}, sum.template to<C>());
}

/// c = (a b) * a_scale[row] * b_scale[column]: a [M, K] and b [K, N] of int8_t or fp8, a_scale [M] and b_scale [N] of float, c [M, N] of
/// float, f16 or bf16; or each with a leading batch axis, whose extent may also be 1.
template <class A, class B, class C, int R>
TW_PER_MODULE void matmul_scaled(const View<A, R>& a, const std::type_identity_t<View<const float, R - 1>>& a_scale, const View<B, R>& b,
                                 const std::type_identity_t<View<const float, R - 1>>& b_scale, const View<C, R>& c,
                                 const Options& options = {}, Here at = Here::current()) {
  using T = std::remove_const_t<A>;
  static_assert(OneOf<T, std::int8_t, f8e4m3, f8e5m2> && std::is_same_v<T, std::remove_const_t<B>>,
                "a and b have one element type: int8_t, f8e4m3 or f8e5m2");
  static_assert(OneOf<C, float, f16, bf16>, "c is float, f16 or bf16");
  host::ArgumentCheck check("matmul_scaled", at);
  check.input("a_scale", a_scale);
  check.input("b_scale", b_scale);
  const host::ProductShape shape = host::check_product(check, a, b, c, options, [&] {
    check.equal("a_scale", -1, "M", "a", -2);
    check.equal("b_scale", -1, "N", "b", -1);
    if constexpr (R == 3) check.broadcast({"a", "b", "a_scale", "b_scale"}, "c", 0);
  });
  if (host::is_empty(shape)) return;
  static const Kernel kernel("matmul_scaled", matmul_scaled_kernel<T, C>);
  host::launch_tuned(check, shape, options, [&](const Options& o) {
    kernel(host::staged_launch_of(host::programs_of(shape, *o.configuration), o), host::with_batch<3>(a, shape.batch, at),
           host::with_batch<2>(a_scale, shape.batch, at), host::with_batch<3>(b, shape.batch, at),
           host::with_batch<2>(b_scale, shape.batch, at), host::with_batch<3>(c, shape.batch, at), host::tiles_of(shape, *o.configuration),
           at);
  });
}

/// c = a b in microscaling formats: a [M, K] and b [K, N] of fp8, or of uint8_t with two e2m1 along K in each, the low half first; a_scale
/// [M, K / 32] and b_scale [N, K / 32] of uint8_t: e8m0, 2^(s - 127), each for 32 elements of K, rounded up.
template <class A, class B, class C, int R>
TW_PER_MODULE void matmul_scaled(const View<A, R>& a, const std::type_identity_t<View<const std::uint8_t, R>>& a_scale, const View<B, R>& b,
                                 const std::type_identity_t<View<const std::uint8_t, R>>& b_scale, const View<C, R>& c,
                                 const Options& options = {}, Here at = Here::current()) {
  using T = std::remove_const_t<A>;
  static_assert(OneOf<T, std::uint8_t, f8e4m3, f8e5m2> && std::is_same_v<T, std::remove_const_t<B>>,
                "a and b have one element type: f8e4m3, f8e5m2, or uint8_t with two e2m1");
  static_assert(OneOf<C, float, f16, bf16>, "c is float, f16 or bf16");
  host::ArgumentCheck check("matmul_scaled", at);
  check.input("a_scale", a_scale);
  check.input("b_scale", b_scale);
  host::ProductShape shape = host::check_product(check, a, b, c, options, [&] {
    check.equal("a_scale", -2, "M", "a", -2);
    check.equal("b_scale", -2, "N", "b", -1);
    const std::int64_t blocks = tilewright::cdiv(host::extent_of(a, -1) * kPacked<T>, std::int64_t{32});
    check.equal("a_scale", -1, "K / 32", blocks);
    check.equal("b_scale", -1, "K / 32", blocks);
    if constexpr (R == 3) check.broadcast({"a", "b", "a_scale", "b_scale"}, "c", 0);
    if (options.configuration && options.configuration->bk < 32)
      check.fail("bk of the configuration is less than 32, the elements of a scale");
  });
  shape.least_k = 32;
  if (host::is_empty(shape)) return;
  static const Kernel kernel("matmul_blocks", matmul_blocks_kernel<T, C>);
  host::launch_tuned(check, shape, options, [&](const Options& o) {
    kernel(host::staged_launch_of(host::programs_of(shape, *o.configuration), o), host::with_batch<3>(a, shape.batch, at),
           host::with_batch<3>(a_scale, shape.batch, at), host::with_batch<3>(b, shape.batch, at),
           host::with_batch<3>(b_scale, shape.batch, at), host::with_batch<3>(c, shape.batch, at), host::tiles_of(shape, *o.configuration),
           at);
  });
}

}  // namespace tilewright::kernels
