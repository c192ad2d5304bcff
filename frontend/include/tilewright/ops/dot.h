// The matrix product.
#pragma once
#include "tilewright/tile.h"

namespace tilewright {

/// How f32 operands are multiplied. `standard`: tf32 where the target has it, ieee elsewhere.
enum class Precision { standard, tf32, tf32x3, bf16x3, ieee };

namespace detail {
template <class A, class B>
struct DotOf {};
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
}  // namespace detail

/// acc + a·b.  a: [M, K], b: [K, N], acc: [M, N], or all with one leading batch extent. f16, bf16, fp8 and f32 accumulate in f32,
/// i8 in i32, f64 in f64. Throws Error if the extents differ.
template <ValueElement A, ValueElement B>
Tile<detail::DotResult<A, B>> dot(const Tile<A>& a, const Tile<B>& b, detail::Fixed<detail::Optional<detail::DotResult<A, B>>> acc = {},
                                  Precision precision = Precision::standard, Here at = Here::current()) {
  using R = detail::DotResult<A, B>;
  return Tile<R>(detail::dot(a, b, acc, detail::kCode<R>, precision, at));
}

}  // namespace tilewright
