// The matrix product.
#pragma once
#include "tilewright/tile.h"

namespace tilewright {

/// How f32 operands are multiplied. `standard` is tf32 if the target has it, else ieee.
enum class Precision { standard, tf32, tf32x3, bf16x3, ieee };

namespace detail {
template <class A, class B>
struct DotOf {};  // no products; dot of such tiles is refused in detail/mismatched_functions.h
template <class T>
  requires OneOf<T, f16, bf16, f8e4m3, f8e5m2, float>
struct DotOf<T, T> {
  using type = float;
};
template <>
struct DotOf<std::int8_t, std::int8_t> {
  using type = std::int32_t;
};
template <>
struct DotOf<double, double> {
  using type = double;
};
template <class A, class B>
using DotResult = typename DotOf<A, B>::type;

Made dot(const Handle& a, const Handle& b, const Maybe& acc, TypeCode acc_type, Precision, const Here&);
Made dot_scaled(const Handle& a, const Handle& a_scale, const Handle& b, const Handle& b_scale, const Maybe& acc, const Here&);
}  // namespace detail

/// acc + a·b.  a: [M, K], b: [K, N], acc: [M, N], or all with one leading batch extent. f16, bf16, fp8 and f32 accumulate in f32,
/// i8 in i32, f64 in f64. Throws Error if the extents differ.
template <ValueElement A, ValueElement B>
Tile<detail::DotResult<A, B>> dot(const Tile<A>& a, const Tile<B>& b, detail::Fixed<detail::Optional<detail::DotResult<A, B>>> acc = {},
                                  Precision precision = Precision::standard, Here at = Here::current()) {
  using R = detail::DotResult<A, B>;
  return Tile<R>(detail::dot(a, b, acc, detail::kCode<R>, precision, at));
}

/// acc + a·b in f32 for microscaling formats (OCP MX). a: [M, K], b: [K, N] in fp8, or in U8 with two e2m1 along K in each, the low half
/// first; a_scale: [M, K / 32], b_scale: [N, K / 32] in e8m0: a power of two 2^(s - 127) for 32 elements of K; 255 is NaN.
template <OneOf<f8e4m3, f8e5m2, std::uint8_t> A, OneOf<f8e4m3, f8e5m2, std::uint8_t> B>
F32 dot_scaled(const Tile<A>& a, const U8& a_scale, const Tile<B>& b, const U8& b_scale, detail::Optional<float> acc = {},
               Here at = Here::current()) {
  return F32(detail::dot_scaled(a, a_scale, b, b_scale, acc, at));
}

}  // namespace tilewright
