// Element types: the C++ types that a tile may hold, small floats as host values, the constants that fit a type, and common types.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

#include "tilewright/small_float.h"

namespace tilewright {

/// T is one of these types.
template <class T, class... Us>
concept OneOf = (std::same_as<T, Us> || ...);

/// The type of inf and nan: they take the float type of the tile that they are combined with.
struct FloatConstant {
  double value;
  friend constexpr FloatConstant operator-(FloatConstant c) { return {-c.value}; }
};
/// Infinity and not-a-number, for every float type that has them. -tw::inf is a constant, too.
inline constexpr FloatConstant inf{__builtin_inf()}, nan{__builtin_nan("")};

namespace detail {

/// A float of 16 or 8 bits as a host value: its bits, explicit conversions (to nearest, ties to even) and comparison by value.
template <class Bits, FloatFormat F>
struct SmallFloat {
  SmallFloat() = default;
  template <class S>
    requires std::is_arithmetic_v<S>
  explicit constexpr SmallFloat(S value) : bits(static_cast<Bits>(encode(F, static_cast<double>(value)))) {}
  explicit constexpr SmallFloat(FloatConstant c) : bits(static_cast<Bits>(encode(F, c.value))) {}
  explicit constexpr operator float() const { return static_cast<float>(decode(F, bits)); }
  explicit constexpr operator double() const { return decode(F, bits); }
  friend constexpr bool operator==(SmallFloat a, SmallFloat b) { return decode(F, a.bits) == decode(F, b.bits); }

  Bits bits;
};

}  // namespace detail

/// IEEE binary16, 1 + 5 + 10 bits: as bits on the host, with explicit conversions that round to nearest even, as in the three types below.
struct f16 : detail::SmallFloat<std::uint16_t, detail::kF16> {
  using SmallFloat::SmallFloat;
};
/// The upper half of a float, 1 + 8 + 7 bits.
struct bf16 : detail::SmallFloat<std::uint16_t, detail::kBF16> {
  using SmallFloat::SmallFloat;
};
/// OCP OFP8, 1 + 4 + 3 bits: no infinity, greatest value 448.
struct f8e4m3 : detail::SmallFloat<std::uint8_t, detail::kF8E4M3> {
  using SmallFloat::SmallFloat;
};
/// OCP OFP8, 1 + 5 + 2 bits.
struct f8e5m2 : detail::SmallFloat<std::uint8_t, detail::kF8E5M2> {
  using SmallFloat::SmallFloat;
};
static_assert(std::is_trivially_copyable_v<f16> && std::is_trivially_copyable_v<f8e4m3>);
static_assert(sizeof(f16) == 2 && sizeof(bf16) == 2 && sizeof(f8e4m3) == 1 && sizeof(f8e5m2) == 1);

/// The families of element types, as the signatures of functions name them.
template <class T>
concept SignedElement = OneOf<T, std::int8_t, std::int16_t, std::int32_t, std::int64_t>;
template <class T>
concept UnsignedElement = OneOf<T, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
template <class T>
concept IntegerElement = SignedElement<T> || UnsignedElement<T>;
template <class T>
concept FloatElement = OneOf<T, f16, bf16, float, double>;
template <class T>
concept Fp8Element = OneOf<T, f8e4m3, f8e5m2>;
template <class T>
concept AnyFloatElement = FloatElement<T> || Fp8Element<T>;
template <class T>
concept BoolElement = std::same_as<T, bool>;
template <class T>
concept NumberElement = IntegerElement<T> || FloatElement<T>;
template <class T>
concept ValueElement = BoolElement<T> || IntegerElement<T> || AnyFloatElement<T>;
template <class T>
concept PointerElement =
    std::is_pointer_v<T> && ValueElement<std::remove_cv_t<std::remove_pointer_t<T>>> && !std::is_volatile_v<std::remove_pointer_t<T>>;
template <class T>
concept Element = ValueElement<T> || PointerElement<T>;

namespace detail {

template <class S>
concept HostInteger = std::integral<S> && !std::same_as<S, bool>;
template <class S>
concept HostFloat = OneOf<S, float, double, f16, bf16, f8e4m3, f8e5m2, FloatConstant>;
template <class S>
concept HostScalar = HostInteger<S> || HostFloat<S> || std::same_as<S, bool>;

// A C++ scalar becomes a constant of a tile's element type: integers for integers and floats, floats only for floats.
template <class S, class T>
concept ConstantOf = (AnyFloatElement<T> && (HostInteger<S> || HostFloat<S>)) || (IntegerElement<T> && HostInteger<S>) ||
                     (BoolElement<T> && std::same_as<S, bool>);

// Whether U converts to the wider type T of the same kind.
template <class U, class T>
concept WidensTo =
    (SignedElement<U> && SignedElement<T> && sizeof(U) < sizeof(T)) || (UnsignedElement<U> && IntegerElement<T> && sizeof(U) < sizeof(T)) ||
    (OneOf<U, f16, bf16> && OneOf<T, float, double>) || (OneOf<U, float> && OneOf<T, double>);

// The common type of two types that is neither of them. Only in this order of T and U; operators and CommonOf handle the other order.
template <class T, class U>
concept MeetInThird = std::same_as<T, f16> && std::same_as<U, bf16>;

template <class A, class B>
struct CommonOf {};
template <class A>
struct CommonOf<A, A> {
  using type = A;
};
template <class A, class B>
  requires WidensTo<A, B>
struct CommonOf<A, B> {
  using type = B;
};
template <class A, class B>
  requires WidensTo<B, A>
struct CommonOf<A, B> {
  using type = A;
};
template <class A, class B>
  requires(MeetInThird<A, B> || MeetInThird<B, A>)
struct CommonOf<A, B> {
  using type = float;
};

template <class P>
using Pointee = std::remove_const_t<std::remove_pointer_t<P>>;
template <class T>
inline constexpr std::size_t kBytes = std::is_pointer_v<T> ? 8 : sizeof(T);

/// The element types as numbers, in the order of tilewright::ir::Element: a copy, so that public headers need no header of the compiler.
enum class Code : std::uint8_t { boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, f8e4m3, f8e5m2 };
enum class Indirection : std::uint8_t { value, pointer, const_pointer };
/// The element type of a tile: a value, or a pointer to values.
struct TypeCode {
  Code element;
  Indirection indirection = Indirection::value;
  friend constexpr bool operator==(TypeCode, TypeCode) = default;
};

template <class T>
struct CodeOf;
#define TW_CODE(TYPE, NAME)                   \
  template <>                                 \
  struct CodeOf<TYPE> {                       \
    static constexpr Code value = Code::NAME; \
  };
TW_CODE(bool, boolean)
TW_CODE(std::int8_t, i8)
TW_CODE(std::int16_t, i16)
TW_CODE(std::int32_t, i32)
TW_CODE(std::int64_t, i64)
TW_CODE(std::uint8_t, u8)
TW_CODE(std::uint16_t, u16)
TW_CODE(std::uint32_t, u32)
TW_CODE(std::uint64_t, u64)
TW_CODE(tilewright::f16, f16)
TW_CODE(tilewright::bf16, bf16)
TW_CODE(float, f32)
TW_CODE(double, f64)
TW_CODE(tilewright::f8e4m3, f8e4m3)
TW_CODE(tilewright::f8e5m2, f8e5m2)
#undef TW_CODE

template <Element T>
inline constexpr TypeCode kCode =
    std::is_pointer_v<T>
        ? TypeCode{CodeOf<Pointee<T>>::value, std::is_const_v<std::remove_pointer_t<T>> ? Indirection::const_pointer : Indirection::pointer}
        : TypeCode{CodeOf<Pointee<T>>::value, Indirection::value};

}  // namespace detail
}  // namespace tilewright

//! @cond
// Small floats as compile-time constants of kernels and as keys: equal values have equal hashes (-0 equals +0).
template <class T>
  requires tilewright::OneOf<T, tilewright::f16, tilewright::bf16, tilewright::f8e4m3, tilewright::f8e5m2>
struct std::hash<T> {
  std::size_t operator()(T v) const { return std::hash<float>{}(static_cast<float>(v)); }
};
//! @endcond
