// The handle of a tile and its operators. Operators are hidden friends whose parameters convert through Operand, which captures the user's
// line; so kernels need neither macros nor templates.
#pragma once
#include <initializer_list>
#include <vector>

#include "tilewright/detail/handle.h"

namespace tilewright {

/// A braced list of extents or axes; {} is the shape of a scalar. A plain integer is not a shape.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Extent> extents) {
    extents_.reserve(extents.size());
    for (Extent e : extents) extents_.push_back(e.value);
  }
  std::size_t size() const { return extents_.size(); }
  int operator[](std::size_t axis) const { return static_cast<int>(extents_[axis]); }
  auto begin() const { return extents_.begin(); }
  auto end() const { return extents_.end(); }
  void push_back(Extent e) { extents_.push_back(e.value); }
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<std::int64_t> extents_;
};

/// An axis: an integer, but not a float or a bool, so that max(x, 0.0f) and sum(x, true) do not compile. A negative axis counts from the
/// end.
struct Axis {
  template <detail::HostInteger I>
  constexpr Axis(I axis) : value(static_cast<std::int64_t>(axis)) {}
  std::int64_t value;
};

template <Element T>
class Tile;

namespace detail {

/// One operand of an operation on tiles of T: a tile of T, a tile that widens to T, or a constant that fits T; and the user's line.
template <class T>
struct Operand : Input {
  Operand(const Tile<T>& tile, Here here = Here::current()) : Input(tile, here) {}
  template <class U>
    requires WidensTo<U, T>
  Operand(const Tile<U>& tile, Here here = Here::current()) : Input(tile, here) {}
  template <ConstantOf<T> S>
  Operand(S number, Here here = Here::current()) : Input(Scalar(number), here) {}
};

/// An offset to a pointer: an integer tile of any width, or a C++ integer.
struct Offset : Input {
  template <IntegerElement I>
  Offset(const Tile<I>& tile, Here here = Here::current()) : Input(tile, here) {}
  template <HostInteger I>
  Offset(I number, Here here = Here::current()) : Input(Scalar(number), here) {}
};

template <class From, class To>
concept PointerAddsConst =
    std::is_pointer_v<From> && std::is_pointer_v<To> && !std::same_as<From, To> && std::same_as<const std::remove_pointer_t<From>*, To>;

}  // namespace detail

/// A handle to a tile of T, of rank 0 (a scalar) to 5. A copy names the same value; an assignment names another value. A
/// default-constructed handle is empty; using it is an error.
template <Element T>
class Tile : public detail::Handle {
  using Operand = detail::Operand<T>;
  using Offset = detail::Offset;
  using Unary = detail::Unary;
  using Binary = detail::Binary;
  template <class U>
  using Third = Tile<typename detail::CommonOf<T, U>::type>;

 public:
  using element_type = T;

  Tile() = default;
  explicit Tile(detail::Made made) : Handle(made) {}
  /// A scalar constant, as in: F32 x = 0;
  template <detail::ConstantOf<T> S>
  Tile(S constant, Here at = Here::current()) : Handle(detail::constant(detail::Scalar(constant), detail::kCode<T>, at)) {}
  /// Converts Ptr<T> to Ptr<const T>.
  template <class U>
    requires detail::PointerAddsConst<U, T>
  Tile(const Tile<U>& pointer, Here at = Here::current()) : Handle(detail::add_const(pointer, at)) {}

  /// The extents, outermost first.
  Shape shape(Here at = Here::current()) const {
    Shape s;
    for (int i = 0, n = detail::rank(*this, at); i < n; ++i) s.push_back(detail::extent(*this, i, at));
    return s;
  }
  /// The number of axes; 0 for a scalar.
  int rank(Here at = Here::current()) const { return detail::rank(*this, at); }
  /// The extent along an axis.
  int extent(Axis axis, Here at = Here::current()) const { return static_cast<int>(detail::extent(*this, axis.value, at)); }

  /// Converts to another element type: to float rounds to nearest even, float to integer truncates and saturates (NaN becomes 0), integers
  /// wrap, to bool tests != 0.
  template <ValueElement U>
    requires ValueElement<T>
  Tile<U> to(Here at = Here::current()) const {
    return Tile<U>(detail::cast(*this, detail::kCode<U>, at));
  }
  /// Reinterprets the bits as another element type of the same width.
  template <Element U>
    requires(detail::kBytes<U> == detail::kBytes<T>)
  Tile<U> bitcast(Here at = Here::current()) const {
    return Tile<U>(detail::bitcast(*this, detail::kCode<U>, at));
  }

// Operators take a Tile<T> and a Tile<T>, a narrower tile or a constant; f16 and bf16 meet in f32.
#define TW_BINARY(OP, NAME, KIND, RESULT, THIRD)                                                              \
  friend RESULT operator OP(Operand a, Operand b)                                                             \
    requires KIND<T>                                                                                          \
  {                                                                                                           \
    return RESULT(detail::binary(Binary::NAME, a, b, detail::kCode<T>));                                      \
  }                                                                                                           \
  template <class U>                                                                                          \
    requires KIND<T> && detail::MeetInThird<T, U>                                                             \
  friend THIRD operator OP(Operand a, const Tile<U>& b) {                                                     \
    return THIRD(detail::binary(Binary::NAME, a, {b, a.at}, detail::kCode<typename Third<U>::element_type>)); \
  }                                                                                                           \
  template <class U>                                                                                          \
    requires KIND<T> && detail::MeetInThird<T, U>                                                             \
  friend THIRD operator OP(const Tile<U>& a, Operand b) {                                                     \
    return THIRD(detail::binary(Binary::NAME, {a, b.at}, b, detail::kCode<typename Third<U>::element_type>)); \
  }
  /// Integers wrap. A float multiplication and an addition after it may be fused (Launch::contract).
  TW_BINARY(+, add, NumberElement, Tile, Third<U>)
  TW_BINARY(-, sub, NumberElement, Tile, Third<U>)
  TW_BINARY(*, mul, NumberElement, Tile, Third<U>)
  /// Integers divide as in C++, towards zero; x / 0 is -1 (all bits set), and least / -1 is the least. f32: the error is at most 2 ulp.
  TW_BINARY(/, div, NumberElement, Tile, Third<U>)
  /// a - (a / b) * b, with the sign of a; x % 0 is x.
  TW_BINARY(%, rem, IntegerElement, Tile, Third<U>)
  /// These work on bits; on bool tiles they are logical operators.
  TW_BINARY(&, bit_and, detail::Bitwise, Tile, Third<U>)
  TW_BINARY(|, bit_or, detail::Bitwise, Tile, Third<U>)
  TW_BINARY(^, bit_xor, detail::Bitwise, Tile, Third<U>)
  /// The shift count is unsigned. If it is at least the width, the result is 0, or all sign bits for a right shift of a signed type.
  TW_BINARY(<<, shl, IntegerElement, Tile, Third<U>)
  TW_BINARY(>>, shr, IntegerElement, Tile, Third<U>)
  /// Compares lane by lane, following IEEE 754: NaN is unequal to everything.
  TW_BINARY(==, eq, detail::Comparable, Tile<bool>, Tile<bool>)
  TW_BINARY(!=, ne, detail::Comparable, Tile<bool>, Tile<bool>)
  TW_BINARY(<, lt, detail::Ordered, Tile<bool>, Tile<bool>)
  TW_BINARY(<=, le, detail::Ordered, Tile<bool>, Tile<bool>)
  TW_BINARY(>, gt, detail::Ordered, Tile<bool>, Tile<bool>)
  TW_BINARY(>=, ge, detail::Ordered, Tile<bool>, Tile<bool>)
  /// Both sides are always computed.
  TW_BINARY(&&, logical_and, BoolElement, Tile<bool>, Tile<bool>)
  TW_BINARY(||, logical_or, BoolElement, Tile<bool>, Tile<bool>)
#undef TW_BINARY

  /// Integers wrap; -(+0) is -0.
  friend Tile operator-(Operand a)
    requires NumberElement<T>
  {
    return Tile(detail::unary(Unary::neg, a));
  }
  /// Inverts each bit.
  friend Tile operator~(Operand a)
    requires detail::Bitwise<T>
  {
    return Tile(detail::unary(Unary::bit_not, a));
  }
  /// Logical not, lane by lane.
  friend Tile operator!(Operand a)
    requires BoolElement<T>
  {
    return Tile(detail::unary(Unary::logical_not, a));
  }

  /// Pointers move by elements. Offsets of any integer type are first extended to 64 bits.
  friend Tile operator+(Operand p, Offset n)
    requires PointerElement<T>
  {
    return Tile(detail::offset_pointer(p, n, false));
  }
  friend Tile operator+(Offset n, Operand p)
    requires PointerElement<T>
  {
    return Tile(detail::offset_pointer(p, n, false));
  }
  friend Tile operator-(Operand p, Offset n)
    requires PointerElement<T>
  {
    return Tile(detail::offset_pointer(p, n, true));
  }
  Tile& operator+=(Offset n)
    requires PointerElement<T>
  {
    return *this = Tile(detail::offset_pointer({*this, n.at}, n, false));
  }
  Tile& operator-=(Offset n)
    requires PointerElement<T>
  {
    return *this = Tile(detail::offset_pointer({*this, n.at}, n, true));
  }

// The right side converts to Tile<T>: a compound assignment never changes the handle's type.
#define TW_ASSIGN(OP, NAME, KIND)                                                          \
  Tile& operator OP(Operand b)                                                             \
    requires KIND<T>                                                                       \
  {                                                                                        \
    return *this = Tile(detail::binary(Binary::NAME, {*this, b.at}, b, detail::kCode<T>)); \
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

/// Short names of the handles. A scalar parameter of a kernel is a tile of rank 0.
template <class T>
using Ptr = Tile<T*>;
using Bool = Tile<bool>;
using I8 = Tile<std::int8_t>;
using I16 = Tile<std::int16_t>;
using I32 = Tile<std::int32_t>;
using I64 = Tile<std::int64_t>;
using U8 = Tile<std::uint8_t>;
using U16 = Tile<std::uint16_t>;
using U32 = Tile<std::uint32_t>;
using U64 = Tile<std::uint64_t>;
using F16 = Tile<f16>;
using BF16 = Tile<bf16>;
using F32 = Tile<float>;
using F64 = Tile<double>;

namespace detail {

/// The handle of parameter `index` of the kernel that is being traced.
template <Element T>
Tile<T> parameter(int index) {
  return Tile<T>(parameter_value(index));
}

template <class A>
struct ElementOf {};  // a constant has no element type of its own
template <class T>
struct ElementOf<Tile<T>> {
  using type = T;
};
template <class A>
concept AnyTile = requires { typename ElementOf<std::remove_cvref_t<A>>::type; };
template <class A>
concept Argument = AnyTile<A> || HostScalar<std::remove_cvref_t<A>>;

// The common element type of several arguments.
template <class... A>
struct Fold {};
template <class A>
struct Fold<A> : ElementOf<A> {};
template <AnyTile A, AnyTile B>
struct Fold<A, B> : CommonOf<typename ElementOf<A>::type, typename ElementOf<B>::type> {};
template <AnyTile A, HostScalar S>
  requires ConstantOf<S, typename ElementOf<A>::type>
struct Fold<A, S> : ElementOf<A> {};
template <HostScalar S, AnyTile A>
  requires ConstantOf<S, typename ElementOf<A>::type>
struct Fold<S, A> : ElementOf<A> {};
template <class A, class B, class C>
  requires requires { typename Fold<A, B>::type; }
struct Fold<A, B, C> : Fold<Tile<typename Fold<A, B>::type>, C> {};
template <HostScalar A, HostScalar B, AnyTile C>
  requires ConstantOf<A, typename ElementOf<C>::type> && ConstantOf<B, typename ElementOf<C>::type>
struct Fold<A, B, C> : ElementOf<C> {};

template <class... A>
using Common = typename Fold<std::remove_cvref_t<A>...>::type;

template <Argument A>
Input input(const A& a, const Here& at) {
  if constexpr (AnyTile<A>)
    return {static_cast<const Handle&>(a), at};
  else
    return {Scalar(a), at};
}

/// An optional tile; {} leaves it out.
template <class T>
struct Optional : Maybe {
  Optional() = default;
  Optional(const Tile<T>& tile) : Maybe(tile) {}
};
/// An optional tile or constant.
template <class T>
struct Other : Maybe {
  Other() = default;
  Other(const Tile<T>& tile) : Maybe(tile) {}
  template <ConstantOf<T> S>
  Other(S number) : Maybe(Scalar(number)) {}
};
template <class T>
using Fixed = std::type_identity_t<T>;  // excluded from deduction, so that braces and conversions work

}  // namespace detail
}  // namespace tilewright

#include "tilewright/detail/mismatch.h"
#include "tilewright/detail/mismatched_functions.h"
#include "tilewright/detail/unmatched_arguments.h"
#include "tilewright/detail/unmatched_operands.h"
