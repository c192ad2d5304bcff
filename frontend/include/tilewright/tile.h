// The handle of a tile and its operators. Operators are hidden friends whose parameters convert through Operand, which captures the user's
// line, so that kernels need neither macros nor templates.
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

/// An axis: an integer, and neither a float nor a bool, so that max(x, 0.0f) and sum(x, true) do not compile. Negative: from the end.
struct Axis {
  template <detail::HostInteger I>
  constexpr Axis(I axis) : value(static_cast<std::int64_t>(axis)) {}
  std::int64_t value;
};

template <Element T>
class Tile;

namespace detail {

/// One operand of an operation on tiles of T: a tile of T, a tile that widens to T, or a constant that fits T; and its line.
template <class T>
struct Operand : Input {
  Operand(const Tile<T>& tile, Here here = Here::current()) : Input(tile, here) {}
  template <class U>
    requires WidensTo<U, T>
  Operand(const Tile<U>& tile, Here here = Here::current()) : Input(tile, here) {}
  template <ConstantOf<T> S>
  Operand(S number, Here here = Here::current()) : Input(Scalar(number), here) {}
};

/// An offset that is added to a pointer: an integer tile of any width, or a C++ integer.
struct Offset : Input {
  template <IntegerElement I>
  Offset(const Tile<I>& tile, Here here = Here::current()) : Input(tile, here) {}
  template <HostInteger I>
  Offset(I number, Here here = Here::current()) : Input(Scalar(number), here) {}
};

template <class From, class To>
concept PointerAddsConst =
    std::is_pointer_v<From> && std::is_pointer_v<To> && !std::same_as<From, To> && std::same_as<const std::remove_pointer_t<From>*, To>;

template <class T>
concept Ordered = NumberElement<T>;
template <class T>
concept Comparable = NumberElement<T> || BoolElement<T>;
template <class T>
concept Bitwise = IntegerElement<T> || BoolElement<T>;

}  // namespace detail

/// A handle to a tile of T, of rank 0 (a scalar) to 5. Copying names the same value; assigning names another one. Default-constructed:
/// empty, and using it is an error.
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
  /// A scalar constant: F32 x = 0;
  template <detail::ConstantOf<T> S>
  Tile(S constant, Here at = Here::current()) : Handle(detail::constant(detail::Scalar(constant), detail::kCode<T>, at)) {}
  /// Ptr<T> -> Ptr<const T>.
  template <class U>
    requires detail::PointerAddsConst<U, T>
  Tile(const Tile<U>& pointer, Here at = Here::current()) : Handle(detail::add_const(pointer, at)) {}

  /// Extents, outermost first.
  Shape shape(Here at = Here::current()) const {
    Shape s;
    for (int i = 0, n = detail::rank(*this, at); i < n; ++i) s.push_back(detail::extent(*this, i, at));
    return s;
  }
  /// How many axes; 0 for a scalar.
  int rank(Here at = Here::current()) const { return detail::rank(*this, at); }
  /// The extent along an axis.
  int extent(Axis axis, Here at = Here::current()) const { return static_cast<int>(detail::extent(*this, axis.value, at)); }

  /// The values in another element type: to float rounds to nearest even, float to integer truncates and saturates (NaN: 0),
  /// integers wrap, to bool is != 0.
  template <ValueElement U>
    requires ValueElement<T>
  Tile<U> to(Here at = Here::current()) const {
    return Tile<U>(detail::cast(*this, detail::kCode<U>, at));
  }
  /// The same bits as another element type of the same width.
  template <Element U>
    requires(detail::kBytes<U> == detail::kBytes<T>)
  Tile<U> bitcast(Here at = Here::current()) const {
    return Tile<U>(detail::bitcast(*this, detail::kCode<U>, at));
  }

// Tile<T> with Tile<T>, a narrower tile or a constant; and f16 with bf16, which meet in f32.
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
  /// Integers wrap. Floats that are multiplied and then added may be fused (Launch::contract).
  TW_BINARY(+, add, NumberElement, Tile, Third<U>)
  TW_BINARY(-, sub, NumberElement, Tile, Third<U>)
  TW_BINARY(*, mul, NumberElement, Tile, Third<U>)
  /// Integers as in C++, towards zero, and x / 0 is -1 (all bits set), the least / -1 the least. f32: at most 2 ulp from the quotient.
  TW_BINARY(/, div, NumberElement, Tile, Third<U>)
  /// a - (a / b) * b, of the sign of a; x % 0 is x.
  TW_BINARY(%, rem, IntegerElement, Tile, Third<U>)
  /// Bits; on bool tiles logic.
  TW_BINARY(&, bit_and, detail::Bitwise, Tile, Third<U>)
  TW_BINARY(|, bit_or, detail::Bitwise, Tile, Third<U>)
  TW_BINARY(^, bit_xor, detail::Bitwise, Tile, Third<U>)
  /// The number of bits is taken as unsigned; from the width on, the result is 0, or the sign bits of what is shifted right.
  TW_BINARY(<<, shl, IntegerElement, Tile, Third<U>)
  TW_BINARY(>>, shr, IntegerElement, Tile, Third<U>)
  /// Lane by lane, IEEE: NaN is unequal to everything.
  TW_BINARY(==, eq, detail::Comparable, Tile<bool>, Tile<bool>)
  TW_BINARY(!=, ne, detail::Comparable, Tile<bool>, Tile<bool>)
  TW_BINARY(<, lt, detail::Ordered, Tile<bool>, Tile<bool>)
  TW_BINARY(<=, le, detail::Ordered, Tile<bool>, Tile<bool>)
  TW_BINARY(>, gt, detail::Ordered, Tile<bool>, Tile<bool>)
  TW_BINARY(>=, ge, detail::Ordered, Tile<bool>, Tile<bool>)
  /// Both sides are computed, whatever the first is.
  TW_BINARY(&&, logical_and, BoolElement, Tile<bool>, Tile<bool>)
  TW_BINARY(||, logical_or, BoolElement, Tile<bool>, Tile<bool>)
#undef TW_BINARY

  /// Integers wrap; -(+0) is -0.
  friend Tile operator-(Operand a)
    requires NumberElement<T>
  {
    return Tile(detail::unary(Unary::neg, a));
  }
  /// Each bit turned around.
  friend Tile operator~(Operand a)
    requires detail::Bitwise<T>
  {
    return Tile(detail::unary(Unary::bit_not, a));
  }
  /// Not, lane by lane.
  friend Tile operator!(Operand a)
    requires BoolElement<T>
  {
    return Tile(detail::unary(Unary::logical_not, a));
  }

  /// Pointers move by elements; offsets of any integer type are extended to 64 bits first.
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

/// Short names of the handles: a scalar parameter of a kernel is a tile of rank 0.
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

/// The handle of parameter `index` of the kernel that is traced.
template <Element T>
Tile<T> parameter(int index) {
  return Tile<T>(parameter_value(index));
}

template <class A>
struct ElementOf {};  // a constant has none of its own
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
  requires AnyTile<A> || AnyTile<B>
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
using Fixed = std::type_identity_t<T>;  // takes part in no deduction, so braces and conversions work

}  // namespace detail
}  // namespace tilewright

#include "tilewright/detail/mismatch.h"
