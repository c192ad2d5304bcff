// Reductions of tensors along axes, and running combinations.
#pragma once
#include "tilewright/graph/tensor.h"
#include "tilewright/ops/reduce.h"
#include "tilewright/ops/scan.h"

namespace tilewright {

namespace detail::tensor {

enum class Reduction : std::uint8_t { sum, prod, max, min, argmax, argmin, any, all, mean, logsumexp };
/// `axes` is null for a reduction over all axes.
Handle reduce(Reduction, const Handle&, const Axes* axes, bool keep_dims, const Here&);
Handle scan(Scan, const Handle&, std::int64_t axis, bool reverse, const Here&);

/// The two arguments of a combining function for t's elements; and the reduction by the function's result.
std::pair<Handle, Handle> combine_arguments(const Handle& t, const Here&);
Handle reduce_by(const Handle& t, std::int64_t axis, TypeCode, const Scalar& identity, const Handle& combined, const Here&);

template <class T>
concept Summable = NumberElement<T> || Fp8Element<T>;
template <class T>
concept Averaged = AnyFloatElement<T>;

}  // namespace detail::tensor

#define TW_REDUCE(NAME, KIND, RESULT)                                                                            \
  template <KIND T>                                                                                              \
  Tensor<RESULT> NAME(const Tensor<T>& t, Here at = Here::current()) {                                           \
    return Tensor<RESULT>(detail::tensor::reduce(detail::tensor::Reduction::NAME, t, nullptr, false, at));       \
  }                                                                                                              \
  template <KIND T>                                                                                              \
  Tensor<RESULT> NAME(const Tensor<T>& t, const Axes& axes, bool keep_dims = false, Here at = Here::current()) { \
    return Tensor<RESULT>(detail::tensor::reduce(detail::tensor::Reduction::NAME, t, &axes, keep_dims, at));     \
  }
/// Reduces one or more axes, which are removed unless keep_dims; without axes, all elements. An empty list names no axis: as in NumPy, each
/// element is then its own sum. The result has the tensor's type; 8- and 16-bit floats are summed and multiplied in f32 and rounded once;
/// integers wrap.
TW_REDUCE(sum, detail::tensor::Summable, T)
TW_REDUCE(prod, NumberElement, T)
/// The sum divided by the number of elements, rounded once.
TW_REDUCE(mean, detail::tensor::Averaged, T)
/// The greatest and the least element; NaN wins. For two tensors there are maximum and minimum.
TW_REDUCE(max, NumberElement, T)
TW_REDUCE(min, NumberElement, T)
/// The row-major index, within the axes, of the greatest and of the least element: the first NaN if there is one, else the lowest index
/// among equal elements (+0 and -0 are equal).
TW_REDUCE(argmax, NumberElement, std::int32_t)
TW_REDUCE(argmin, NumberElement, std::int32_t)
/// Whether any or all of the elements are true.
TW_REDUCE(any, BoolElement, bool)
TW_REDUCE(all, BoolElement, bool)
/// log(sum(exp(t))) without overflow; -inf if all elements are -inf.
TW_REDUCE(logsumexp, FloatElement, T)
#undef TW_REDUCE

/// Combines the elements along an axis by f(earlier, later), which takes and gives tensors of rank 0 and must be associative; `identity` is
/// its neutral element. f may compute with its arguments and constants, element by element. If f is a single operator or function that has
/// a named reduction (such as +), the result is that reduction.
template <ValueElement T, detail::ConstantOf<T> S, class F>
  requires std::is_invocable_r_v<Tensor<T>, F, Tensor<T>, Tensor<T>>
Tensor<T> reduce(const Tensor<T>& t, Axis axis, S identity, F f, Here at = Here::current()) {
  const auto [earlier, later] = detail::tensor::combine_arguments(t, at);
  const Tensor<T> combined = f(Tensor<T>(earlier), Tensor<T>(later));
  return Tensor<T>(detail::tensor::reduce_by(t, axis.value, detail::kCode<T>, detail::Scalar(identity), combined, at));
}

#define TW_SCAN(NAME)                                                                              \
  template <NumberElement T>                                                                       \
  Tensor<T> NAME(const Tensor<T>& t, Axis axis, bool reverse = false, Here at = Here::current()) { \
    return Tensor<T>(detail::tensor::scan(detail::Scan::NAME, t, axis.value, reverse, at));        \
  }
/// Element k of the result combines elements 0 to k along the axis, or k to the end with `reverse`. 16-bit floats are computed in f32.
TW_SCAN(cumsum)
TW_SCAN(cumprod)
/// The greatest and the least element so far; NaN wins.
TW_SCAN(cummax)
TW_SCAN(cummin)
#undef TW_SCAN

}  // namespace tilewright
