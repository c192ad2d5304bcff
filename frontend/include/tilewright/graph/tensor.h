// The handle of a tensor and its operators. As for tiles, operators are hidden friends whose parameters capture the user's line.
#pragma once
#include <string>
#include <vector>

#include "tilewright/detail/as_tile.h"
#include "tilewright/graph/tensor_handle.h"

namespace tilewright {

namespace detail::tensor {

/// One operand of an operation on tensors of T: a tensor of T, a tensor that widens to T, a constant that fits T, or the value of an extent;
/// and the user's line.
template <class T>
struct Operand : Input {
  Operand(const Tensor<T>& tensor, Here here = Here::current()) : Input(tensor, here) {}
  template <class U>
    requires WidensTo<U, T>
  Operand(const Tensor<U>& tensor, Here here = Here::current()) : Input(tensor, here) {}
  template <ConstantOf<T> S>
  Operand(S number, Here here = Here::current()) : Input(Scalar(number), here) {}
  template <std::same_as<Dim> D>
    requires HoldsExtents<T>
  Operand(const D& n, Here here = Here::current()) : Input(n, here) {}
};

}  // namespace detail::tensor

/// A handle to a tensor of a graph: a value that a plan computes, of rank 0 to 6. Extents may be 0: the tensor then has no elements. A copy
/// names the same tensor. A default-constructed handle is empty; using it is an error.
template <ValueElement T>
class Tensor : public detail::tensor::Handle {
  using Operand = detail::tensor::Operand<T>;
  using Unary = detail::Unary;
  using Binary = detail::Binary;
  template <class U>
  using Third = Tensor<typename detail::CommonOf<T, U>::type>;

 public:
  using element_type = T;

  Tensor() = default;
  explicit Tensor(Handle made) : Handle(std::move(made)) {}

  /// The extents, outermost first; empty for a scalar.
  std::vector<Dim> shape(Here at = Here::current()) const { return detail::tensor::shape(*this, at); }
  /// The number of axes; 0 for a scalar.
  int rank(Here at = Here::current()) const { return static_cast<int>(detail::tensor::shape(*this, at).size()); }
  /// Names the tensor in reports, and returns it. The names of inputs, outputs and symbols are theirs: a report adds a number to an equal
  /// one, as in "x_2".
  Tensor name(const std::string& name, Here at = Here::current()) const {
    detail::tensor::set_name(*this, name, at);
    return *this;
  }

  /// Converts to another element type: to float rounds to nearest even, float to integer truncates and saturates (NaN becomes 0), integers
  /// wrap, to bool tests != 0.
  template <ValueElement U>
  Tensor<U> to(Here at = Here::current()) const {
    return Tensor<U>(detail::tensor::cast(*this, detail::kCode<U>, at));
  }
  /// Reinterprets the bits as another element type of the same width.
  template <ValueElement U>
    requires(sizeof(U) == sizeof(T) && !BoolElement<U> && !BoolElement<T>)
  Tensor<U> bitcast(Here at = Here::current()) const {
    return Tensor<U>(detail::tensor::bitcast(*this, detail::kCode<U>, at));
  }

// Operators take a Tensor<T> and a Tensor<T>, a narrower tensor, a constant or an extent; f16 and bf16 meet in f32.
#define TW_BINARY(OP, NAME, KIND, RESULT, THIRD)                                                                      \
  friend RESULT operator OP(Operand a, Operand b)                                                                     \
    requires KIND<T>                                                                                                  \
  {                                                                                                                   \
    return RESULT(detail::tensor::binary(Binary::NAME, a, b, detail::kCode<T>));                                      \
  }                                                                                                                   \
  template <class U>                                                                                                  \
    requires KIND<T> && detail::MeetInThird<T, U>                                                                     \
  friend THIRD operator OP(Operand a, const Tensor<U>& b) {                                                           \
    return THIRD(detail::tensor::binary(Binary::NAME, a, {b, a.at}, detail::kCode<typename Third<U>::element_type>)); \
  }                                                                                                                   \
  template <class U>                                                                                                  \
    requires KIND<T> && detail::MeetInThird<T, U>                                                                     \
  friend THIRD operator OP(const Tensor<U>& a, Operand b) {                                                           \
    return THIRD(detail::tensor::binary(Binary::NAME, {a, b.at}, b, detail::kCode<typename Third<U>::element_type>)); \
  }
  /// These apply element by element; shapes broadcast. They mean the same as for tiles. Integers wrap. An extent stands for its value at the
  /// run beside a tensor of 32- or 64-bit numbers: sum(x) / n.
  TW_BINARY(+, add, NumberElement, Tensor, Third<U>)
  TW_BINARY(-, sub, NumberElement, Tensor, Third<U>)
  TW_BINARY(*, mul, NumberElement, Tensor, Third<U>)
  TW_BINARY(/, div, NumberElement, Tensor, Third<U>)
  TW_BINARY(%, rem, IntegerElement, Tensor, Third<U>)
  /// These work on bits; on bool tensors they are logical operators.
  TW_BINARY(&, bit_and, detail::Bitwise, Tensor, Third<U>)
  TW_BINARY(|, bit_or, detail::Bitwise, Tensor, Third<U>)
  TW_BINARY(^, bit_xor, detail::Bitwise, Tensor, Third<U>)
  TW_BINARY(<<, shl, IntegerElement, Tensor, Third<U>)
  TW_BINARY(>>, shr, IntegerElement, Tensor, Third<U>)
  /// Comparisons follow IEEE 754: NaN is unequal to everything.
  TW_BINARY(==, eq, detail::Comparable, Tensor<bool>, Tensor<bool>)
  TW_BINARY(!=, ne, detail::Comparable, Tensor<bool>, Tensor<bool>)
  TW_BINARY(<, lt, detail::Ordered, Tensor<bool>, Tensor<bool>)
  TW_BINARY(<=, le, detail::Ordered, Tensor<bool>, Tensor<bool>)
  TW_BINARY(>, gt, detail::Ordered, Tensor<bool>, Tensor<bool>)
  TW_BINARY(>=, ge, detail::Ordered, Tensor<bool>, Tensor<bool>)
  TW_BINARY(&&, logical_and, BoolElement, Tensor<bool>, Tensor<bool>)
  TW_BINARY(||, logical_or, BoolElement, Tensor<bool>, Tensor<bool>)
#undef TW_BINARY

#define TW_UNARY(OP, NAME, KIND)                          \
  friend Tensor operator OP(Operand a)                    \
    requires KIND<T>                                      \
  {                                                       \
    return Tensor(detail::tensor::unary(Unary::NAME, a)); \
  }
  /// Integers wrap; -(+0) is -0.
  TW_UNARY(-, neg, NumberElement)
  TW_UNARY(~, bit_not, detail::Bitwise)
  TW_UNARY(!, logical_not, BoolElement)
#undef TW_UNARY

// The right side converts to Tensor<T>: a compound assignment never changes the handle's type.
#define TW_ASSIGN(OP, NAME, KIND)                                                                    \
  Tensor& operator OP(Operand b)                                                                     \
    requires KIND<T>                                                                                 \
  {                                                                                                  \
    return *this = Tensor(detail::tensor::binary(Binary::NAME, {*this, b.at}, b, detail::kCode<T>)); \
  }
  TW_ASSIGN(+=, add, NumberElement)
  TW_ASSIGN(-=, sub, NumberElement)
  TW_ASSIGN(*=, mul, NumberElement)
  TW_ASSIGN(/=, div, NumberElement)
  TW_ASSIGN(%=, rem, IntegerElement)
  TW_ASSIGN(&=, bit_and, detail::Bitwise)
  TW_ASSIGN(|=, bit_or, detail::Bitwise)
  TW_ASSIGN(^=, bit_xor, detail::Bitwise)
  TW_ASSIGN(<<=, shl, IntegerElement)
  TW_ASSIGN(>>=, shr, IntegerElement)
#undef TW_ASSIGN
};

namespace detail::tensor {

// Element types meet by the same rules as for tiles (AsTile).
template <class A>
inline constexpr bool kIsTensor = false;
template <class T>
inline constexpr bool kIsTensor<Tensor<T>> = true;

template <class A>
concept AnyTensor = kIsTensor<std::remove_cvref_t<A>>;
template <class A>
concept Argument = AnyTensor<A> || HostScalar<std::remove_cvref_t<A>>;
/// The common element type of several arguments, at least one of which is a tensor.
template <class... A>
using Common = detail::Common<typename AsTile<std::remove_cvref_t<A>>::type...>;

template <Argument A>
Input input(const A& a, const Here& at) {
  if constexpr (AnyTensor<A>)
    return {static_cast<const Handle&>(a), at};
  else
    return {Scalar(a), at};
}

}  // namespace detail::tensor
}  // namespace tilewright
