// Products of tensors.
#pragma once
#include <string_view>

#include "tilewright/graph/tensor.h"
#include "tilewright/ops/dot.h"

namespace tilewright {

namespace detail::tensor {

Handle matmul(const Handle& a, const Handle& b, TypeCode meet, TypeCode result, Precision, const Here&);
Handle einsum(std::string_view equation, const std::vector<Handle>&, TypeCode meet, TypeCode result, const Here&);

/// The element type of a product of operands of T: R if it is given (float for narrower floats), else T, or i32 for 8-bit integers.
template <class R, class T>
struct ProductOf {};
template <class T>
  requires NumberElement<T> || Fp8Element<T>
struct ProductOf<void, T> {
  using type = std::conditional_t<IntegerElement<T> && sizeof(T) == 1, std::int32_t, T>;
};
template <class R, class T>
  requires(!std::same_as<R, void> &&
           (std::same_as<R, typename ProductOf<void, T>::type> || (std::same_as<R, float> && AnyFloatElement<T> && sizeof(T) < 4)))
struct ProductOf<R, T> {
  using type = R;
};
template <class R, class... T>
using Product = typename ProductOf<R, Common<Tensor<T>...>>::type;

/// An equation and the user's line that wrote it.
struct Equation {
  template <std::convertible_to<std::string_view> S>
  Equation(const S& equation, Here here = Here::current()) : text(equation), at(here) {}
  std::string_view text;
  Here at;
};

}  // namespace detail::tensor

/// The matrix product of the last two axes; the others broadcast. a: [..., M, K], b: [..., K, N]. f16, bf16, fp8 and f32 accumulate in f32,
/// f64 in f64, and the result is rounded to the operands' type; matmul<float>(a, b) keeps f32. Integers wrap; 8-bit ones give i32.
/// Throws Error if K differs or if an operand has fewer than two axes.
template <class R = void, ValueElement A, ValueElement B>
Tensor<detail::tensor::Product<R, A, B>> matmul(const Tensor<A>& a, const Tensor<B>& b, Precision precision = Precision::standard,
                                                Here at = Here::current()) {
  using T = detail::tensor::Product<R, A, B>;
  return Tensor<T>(
      detail::tensor::matmul(a, b, detail::kCode<detail::tensor::Common<Tensor<A>, Tensor<B>>>, detail::kCode<T>, precision, at));
}

/// einsum("bhqd,bhkd->bhqk", q, k): the sum of products over the labels that the result lacks, as in NumPy with `->`. A label is a letter;
/// "..." stands for axes that broadcast. Element types and accumulators are as for matmul; einsum<float>(...) keeps f32.
template <class R = void, ValueElement... T>
  requires(sizeof...(T) >= 1)
Tensor<detail::tensor::Product<R, T...>> einsum(detail::tensor::Equation equation, const Tensor<T>&... tensors) {
  using E = detail::tensor::Product<R, T...>;
  return Tensor<E>(detail::tensor::einsum(equation.text, {tensors...}, detail::kCode<detail::tensor::Common<Tensor<T>...>>,
                                          detail::kCode<E>, equation.at));
}

}  // namespace tilewright
