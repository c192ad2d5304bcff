// Integer arithmetic: wrapping unless .sat says otherwise. Division by zero gives all ones, and the dividend as remainder.
#include <limits>
#include <type_traits>

#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/state/register_file.h"

namespace tilewright::rt::emulator {
namespace {

template <class T>
using Unsigned = std::make_unsigned_t<T>;
template <class T>
inline constexpr bool kSigned = std::is_signed_v<T>;
__extension__ using s128 = __int128;
__extension__ using u128 = unsigned __int128;
// What holds a product of two T.
template <class T>
using Double = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<kSigned<T>, s32, u32>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<kSigned<T>, s64, u64>, std::conditional_t<kSigned<T>, s128, u128>>>;

// Small types are promoted to int, whose overflow is undefined: all wrapping arithmetic is done in 64 unsigned bits.
template <class T>
T add(T a, T b) {
  return static_cast<T>(static_cast<u64>(a) + static_cast<u64>(b));
}
template <class T>
T sub(T a, T b) {
  return static_cast<T>(static_cast<u64>(a) - static_cast<u64>(b));
}
template <class T>
T mul_lo(T a, T b) {
  return static_cast<T>(static_cast<u64>(a) * static_cast<u64>(b));
}
template <class T>
T mul_hi(T a, T b) {
  return static_cast<T>(static_cast<Double<T>>(static_cast<Double<T>>(a) * static_cast<Double<T>>(b)) >> (8 * sizeof(T)));
}
template <class T>
Double<T> mul_wide(T a, T b) {
  return static_cast<Double<T>>(static_cast<Double<T>>(a) * static_cast<Double<T>>(b));
}
template <class T>
T mad_lo(T a, T b, T c) {
  return add<T>(mul_lo<T>(a, b), c);
}
template <class T>
T mad_hi(T a, T b, T c) {
  return add<T>(mul_hi<T>(a, b), c);
}
template <class T>
Double<T> mad_wide(T a, T b, Double<T> c) {
  return add<Double<T>>(mul_wide<T>(a, b), c);
}
template <class T>
T minimum(T a, T b) {
  return b < a ? b : a;
}
template <class T>
T maximum(T a, T b) {
  return a < b ? b : a;
}
template <class T>
T absolute(T a) {
  return a < 0 ? sub<T>(0, a) : a;
}
template <class T>
T negate(T a) {
  return sub<T>(0, a);
}
template <class T>
T sad(T a, T b, T c) {
  return add<T>(a < b ? sub<T>(b, a) : sub<T>(a, b), c);
}

template <class T>
T div(T a, T b) {
  if (b == 0) return static_cast<T>(~u64{0});
  if (kSigned<T> && b == static_cast<T>(-1)) return negate(a);
  return static_cast<T>(a / b);
}
template <class T>
T rem(T a, T b) {
  if (b == 0) return a;
  if (kSigned<T> && b == static_cast<T>(-1)) return 0;
  return static_cast<T>(a % b);
}

s32 clamp(s64 wide) {
  return static_cast<s32>(wide < std::numeric_limits<s32>::min()   ? std::numeric_limits<s32>::min()
                          : wide > std::numeric_limits<s32>::max() ? std::numeric_limits<s32>::max()
                                                                   : wide);
}
s32 add_sat(s32 a, s32 b) { return clamp(s64{a} + b); }
s32 sub_sat(s32 a, s32 b) { return clamp(s64{a} - b); }
s32 mad_hi_sat(s32 a, s32 b, s32 c) { return clamp(s64{mul_hi<s32>(a, b)} + c); }
/// F of both halves, as integers of the type.
template <auto F>
struct OfHalves;
template <class T, T (*F)(T, T)>
struct OfHalves<F> {
  static u32 apply(u32 a, u32 b) {
    const auto half = [](u32 word, int shift) { return static_cast<T>(word >> shift); };
    const auto low = static_cast<u16>(F(half(a, 0), half(b, 0))), high = static_cast<u16>(F(half(a, 16), half(b, 16)));
    return low | u32{high} << 16;
  }
};
template <auto F>
u32 of_halves(u32 a, u32 b) {
  return OfHalves<F>::apply(a, b);
}

s16 half_min_relu(s16 a, s16 b) { return maximum<s16>(minimum<s16>(a, b), 0); }
s16 half_max_relu(s16 a, s16 b) { return maximum<s16>(maximum<s16>(a, b), 0); }
s32 min_relu(s32 a, s32 b) { return maximum<s32>(minimum<s32>(a, b), 0); }
s32 max_relu(s32 a, s32 b) { return maximum<s32>(maximum<s32>(a, b), 0); }

// 24-bit operands have a product of 48 bits: its low 32, or bits 16 to 47.
template <class T>
s64 low_24(T a) {
  return kSigned<T> ? static_cast<s32>(static_cast<u32>(a) << 8) >> 8 : static_cast<s64>(static_cast<u32>(a) & 0xffffffu);
}
template <class T>
T mul24_lo(T a, T b) {
  return static_cast<T>(low_24(a) * low_24(b));
}
template <class T>
T mul24_hi(T a, T b) {
  return static_cast<T>((low_24(a) * low_24(b)) >> 16);
}
template <class T>
T mad24_lo(T a, T b, T c) {
  return add<T>(mul24_lo<T>(a, b), c);
}
template <class T>
T mad24_hi(T a, T b, T c) {
  return add<T>(mul24_hi<T>(a, b), c);
}
s32 mad24_hi_sat(s32 a, s32 b, s32 c) { return clamp(s64{mul24_hi<s32>(a, b)} + c); }

template <class A, class B>
u32 dot_4(u32 a, u32 b, u32 c) {
  for (int i = 0; i < 4; ++i)
    c += static_cast<u32>(static_cast<s32>(static_cast<A>(a >> (8 * i))) * static_cast<s32>(static_cast<B>(b >> (8 * i))));
  return c;
}
template <class A, class B, bool High>
u32 dot_2(u32 a, u32 b, u32 c) {
  for (int i = 0; i < 2; ++i)
    c += static_cast<u32>(static_cast<A>(a >> (16 * i))) *
         static_cast<u32>(static_cast<s32>(static_cast<B>(b >> (8 * i + (High ? 16 : 0)))));
  return c;
}

/// Calls f.operator()<T>() for the C++ type of an integer type.
template <class F>
Handler for_integer(Decoder& decoder, Type type, F f) {
  switch (type) {
    case Type::u16: return f.template operator()<u16>();
    case Type::s16: return f.template operator()<s16>();
    case Type::u32: return f.template operator()<u32>();
    case Type::s32: return f.template operator()<s32>();
    case Type::u64: return f.template operator()<u64>();
    case Type::s64: return f.template operator()<s64>();
    default: decoder.fail("no instruction of this type: expected one of 16 to 64 bits, signed or unsigned");
  }
}

template <class F>
Handler for_32(Decoder& decoder, Type type, F f) {
  if (type != Type::u32 && type != Type::s32) decoder.fail("no instruction of this type: expected u32 or s32");
  return type == Type::s32 ? f.template operator()<s32>() : f.template operator()<u32>();
}

Handler choose_multiply(Decoder& d, Type type, bool adds, int part) {
  if (part < 0) d.fail("one of '.lo', '.hi' and '.wide' is missing");
  if (part == 2) {
    if (bytes_of(type) == 8) d.fail("'.wide' needs operands of 16 or 32 bits");
    return for_integer(d, type, [&]<class T>() -> Handler {
      if constexpr (sizeof(T) == 8)
        return nullptr;
      else
        return adds ? elementwise<mad_wide<T>>() : elementwise<mul_wide<T>>();
    });
  }
  if (adds && part == 1 && d.take("sat")) {
    if (type != Type::s32) d.fail("'.sat' needs s32");
    return elementwise<mad_hi_sat>();
  }
  return for_integer(d, type, [&]<class T>() -> Handler {
    if (adds) return part == 0 ? elementwise<mad_lo<T>>() : elementwise<mad_hi<T>>();
    return part == 0 ? elementwise<mul_lo<T>>() : elementwise<mul_hi<T>>();
  });
}

Handler choose_24(Decoder& d, Type type, bool adds) {
  const int part = d.take_one({"lo", "hi"});
  if (part < 0) d.fail("one of '.lo' and '.hi' is missing");
  if (adds && part == 1 && type == Type::s32 && d.take("sat")) return elementwise<mad24_hi_sat>();
  return for_32(d, type, [&]<class T>() -> Handler {
    if (adds) return part == 0 ? elementwise<mad24_lo<T>>() : elementwise<mad24_hi<T>>();
    return part == 0 ? elementwise<mul24_lo<T>>() : elementwise<mul24_hi<T>>();
  });
}

Handler choose_add_or_sub(Decoder& d, Type type, bool adds) {
  if (d.take("sat")) {
    if (type != Type::s32) d.fail("'.sat' needs s32");
    return adds ? elementwise<add_sat>() : elementwise<sub_sat>();
  }
  return for_integer(d, type, [&]<class T>() -> Handler { return adds ? elementwise<add<T>>() : elementwise<sub<T>>(); });
}

/// Of two halves in a register of 32 bits.
Handler choose_packed(Decoder& d, std::string_view base, bool is_signed) {
  if (base != "add" && base != "min" && base != "max") return nullptr;
  if (base == "add") return elementwise<of_halves<add<u16>>>();
  const bool is_min = base == "min";
  if (is_signed && d.take("relu")) return is_min ? elementwise<of_halves<half_min_relu>>() : elementwise<of_halves<half_max_relu>>();
  if (is_signed) return is_min ? elementwise<of_halves<minimum<s16>>>() : elementwise<of_halves<maximum<s16>>>();
  return is_min ? elementwise<of_halves<minimum<u16>>>() : elementwise<of_halves<maximum<u16>>>();
}

Handler choose_min_or_max(Decoder& d, Type type, bool is_min) {
  if (d.take("relu")) {
    if (type != Type::s32) d.fail("'.relu' needs s32");
    return is_min ? elementwise<min_relu>() : elementwise<max_relu>();
  }
  return for_integer(d, type, [&]<class T>() -> Handler { return is_min ? elementwise<minimum<T>>() : elementwise<maximum<T>>(); });
}

Handler choose(Decoder& d, Type type, std::string_view base, int part) {
  if (type == Type::u16x2 || type == Type::s16x2) return choose_packed(d, base, type == Type::s16x2);
  if (base == "add" || base == "sub") return choose_add_or_sub(d, type, base == "add");
  if (base == "mul" || base == "mad") return choose_multiply(d, type, base == "mad", part);
  if (base == "mul24" || base == "mad24") return choose_24(d, type, base == "mad24");
  if (base == "min" || base == "max") return choose_min_or_max(d, type, base == "min");
  return for_integer(d, type, [&]<class T>() -> Handler {
    if (base == "div") return elementwise<div<T>>();
    if (base == "rem") return elementwise<rem<T>>();
    if (base == "sad") return elementwise<sad<T>>();
    if (base == "neg") return elementwise<negate<T>>();
    if constexpr (kSigned<T>)
      if (base == "abs") return elementwise<absolute<T>>();
    return nullptr;
  });
}

void decode_dot(Decoder& d) {
  const bool high = d.base() == "dp2a" && d.take_one({"lo", "hi"}) == 1;
  const bool a_signed = is_signed(d.take_type()), b_signed = is_signed(d.take_type());
  const auto pick = [&]<class A, class B, class A2, class B2>() -> Handler {
    if (d.base() == "dp4a") return elementwise<dot_4<A, B>>();
    return high ? elementwise<dot_2<A2, B2, true>>() : elementwise<dot_2<A2, B2, false>>();
  };
  if (a_signed)
    d.out.execute = b_signed ? pick.operator()<s8, s8, s16, s8>() : pick.operator()<s8, u8, s16, u8>();
  else
    d.out.execute = b_signed ? pick.operator()<u8, s8, u16, s8>() : pick.operator()<u8, u8, u16, u8>();
  d.expect_operands(4);
  d.destination(0, d.operand(0), 4);
  for (int k = 1; k < 4; ++k) d.source(k, d.operand(static_cast<std::size_t>(k)), 4);
}

}  // namespace

void decode_integer(Decoder& d) {
  d.out.category = Category::integer;
  const std::string_view base = d.base();
  if (base == "dp4a" || base == "dp2a") return decode_dot(d);
  const bool multiplies = base == "mul" || base == "mad";
  const int part = multiplies ? d.take_one({"lo", "hi", "wide"}) : -1;
  const Type type = d.take_type();
  d.out.execute = choose(d, type, base, part);
  if (d.out.execute == nullptr) d.fail("no instruction of this type");
  const int bytes = bytes_of(type), wide = part == 2 ? 2 * bytes : bytes;
  const bool is_unary = base == "neg" || base == "abs";
  const bool has_third = base == "mad" || base == "mad24" || base == "sad";
  d.expect_operands(is_unary ? 2 : has_third ? 4 : 3);
  d.destination(0, d.operand(0), wide);
  d.source(1, d.operand(1), bytes);
  if (!is_unary) d.source(2, d.operand(2), bytes);
  if (has_third) d.source(3, d.operand(3), wide);
}

}  // namespace tilewright::rt::emulator
