// Element-wise functions of tensors. Names, meanings and special cases are those of the functions of tiles.
#pragma once
#include "tilewright/graph/tensor.h"
#include "tilewright/ops/elementwise.h"

namespace tilewright {

namespace detail::tensor {
Handle fma(const Input& a, const Input& b, const Input& c, TypeCode meet);
Handle clamp(const Input& x, const Input& lo, const Input& hi, TypeCode meet);
Handle where(const Handle& condition, const Input& a, const Input& b, TypeCode meet);
}  // namespace detail::tensor

#define TW_UNARY(NAME, KIND, RESULT)                                            \
  template <KIND T>                                                             \
  Tensor<RESULT> NAME(const Tensor<T>& x, Here at = Here::current()) {          \
    return Tensor<RESULT>(detail::tensor::unary(detail::Unary::NAME, {x, at})); \
  }
/// Each function applies to every element; f16 and bf16 are computed in f32 and rounded once.
TW_UNARY(abs, NumberElement, T)
TW_UNARY(ceil, FloatElement, T)
TW_UNARY(floor, FloatElement, T)
TW_UNARY(round, FloatElement, T)
TW_UNARY(rint, FloatElement, T)
TW_UNARY(trunc, FloatElement, T)
TW_UNARY(sqrt, FloatElement, T)
TW_UNARY(rsqrt, FloatElement, T)
TW_UNARY(exp, FloatElement, T)
TW_UNARY(exp2, FloatElement, T)
TW_UNARY(exp10, FloatElement, T)
TW_UNARY(expm1, FloatElement, T)
TW_UNARY(log, FloatElement, T)
TW_UNARY(log2, FloatElement, T)
TW_UNARY(log10, FloatElement, T)
TW_UNARY(log1p, FloatElement, T)
TW_UNARY(sin, FloatElement, T)
TW_UNARY(cos, FloatElement, T)
TW_UNARY(tan, FloatElement, T)
TW_UNARY(asin, FloatElement, T)
TW_UNARY(acos, FloatElement, T)
TW_UNARY(atan, FloatElement, T)
TW_UNARY(sinh, FloatElement, T)
TW_UNARY(cosh, FloatElement, T)
TW_UNARY(tanh, FloatElement, T)
TW_UNARY(cbrt, FloatElement, T)
TW_UNARY(erf, FloatElement, T)
TW_UNARY(isnan, FloatElement, bool)
TW_UNARY(isinf, FloatElement, bool)
TW_UNARY(popcount, IntegerElement, std::int32_t)
TW_UNARY(clz, IntegerElement, std::int32_t)
TW_UNARY(ffs, IntegerElement, std::int32_t)
TW_UNARY(reverse_bits, IntegerElement, T)
#undef TW_UNARY

// Two or more arguments: tensors and constants in any mixture with at least one tensor.
#define TW_BINARY(NAME, KIND)                                                                                                        \
  template <detail::tensor::Argument A, detail::tensor::Argument B>                                                                  \
    requires KIND<detail::tensor::Common<A, B>>                                                                                      \
  Tensor<detail::tensor::Common<A, B>> NAME(const A& a, const B& b, Here at = Here::current()) {                                     \
    using T = detail::tensor::Common<A, B>;                                                                                          \
    return Tensor<T>(                                                                                                                \
        detail::tensor::binary(detail::Binary::NAME, detail::tensor::input(a, at), detail::tensor::input(b, at), detail::kCode<T>)); \
  }
/// Shapes broadcast.
TW_BINARY(pow, FloatElement)
TW_BINARY(minimum, NumberElement)
TW_BINARY(maximum, NumberElement)
TW_BINARY(fmin, FloatElement)
TW_BINARY(fmax, FloatElement)
TW_BINARY(copysign, FloatElement)
TW_BINARY(atan2, FloatElement)
TW_BINARY(hypot, FloatElement)
TW_BINARY(umulhi, UnsignedElement)
TW_BINARY(div_rn, FloatElement)
#undef TW_BINARY

#define TW_TERNARY(NAME, KIND)                                                                                                             \
  template <detail::tensor::Argument A, detail::tensor::Argument B, detail::tensor::Argument C>                                            \
    requires KIND<detail::tensor::Common<A, B, C>>                                                                                         \
  Tensor<detail::tensor::Common<A, B, C>> NAME(const A& a, const B& b, const C& c, Here at = Here::current()) {                            \
    using T = detail::tensor::Common<A, B, C>;                                                                                             \
    return Tensor<T>(                                                                                                                      \
        detail::tensor::NAME(detail::tensor::input(a, at), detail::tensor::input(b, at), detail::tensor::input(c, at), detail::kCode<T>)); \
  }
/// a * b + c, rounded once.
TW_TERNARY(fma, FloatElement)
/// minimum(maximum(x, lo), hi).
TW_TERNARY(clamp, NumberElement)
#undef TW_TERNARY

/// condition ? a : b, element by element; all three broadcast.
template <detail::tensor::Argument A, detail::tensor::Argument B>
  requires ValueElement<detail::tensor::Common<A, B>>
Tensor<detail::tensor::Common<A, B>> where(const Tensor<bool>& condition, const A& a, const B& b, Here at = Here::current()) {
  using T = detail::tensor::Common<A, B>;
  return Tensor<T>(detail::tensor::where(condition, detail::tensor::input(a, at), detail::tensor::input(b, at), detail::kCode<T>));
}
/// where() with two C++ numbers: the result has their own element type.
template <detail::HostScalar A, detail::HostScalar B>
  requires ValueElement<detail::CommonNumber<A, B>>
Tensor<detail::CommonNumber<A, B>> where(const Tensor<bool>& condition, const A& a, const B& b, Here at = Here::current()) {
  using T = detail::CommonNumber<A, B>;
  return Tensor<T>(detail::tensor::where(condition, detail::tensor::input(a, at), detail::tensor::input(b, at), detail::kCode<T>));
}

/// t.to<U>().
template <ValueElement U, ValueElement T>
Tensor<U> cast(const Tensor<T>& t, Here at = Here::current()) {
  return Tensor<U>(detail::tensor::cast(t, detail::kCode<U>, at));
}

}  // namespace tilewright
