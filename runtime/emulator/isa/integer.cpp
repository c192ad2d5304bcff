// Integer arithmetic: it wraps unless .sat is given. Division by zero gives all ones, and the dividend as the remainder.
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
// A type that holds a product of two T.
template <class T>
using Double = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<kSigned<T>, s32, u32>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<kSigned<T>, s64, u64>, std::conditional_t<kSigned<T>, s128, u128>>>;

// Small types are promoted to int, whose overflow is undefined: so all wrapping arithmetic is done in 64 unsigned bits.
template <class T>
struct Integer {
  using Wide = Double<T>;
  static T add(T a, T b) { return static_cast<T>(static_cast<u64>(a) + static_cast<u64>(b)); }
  static T sub(T a, T b) { return static_cast<T>(static_cast<u64>(a) - static_cast<u64>(b)); }
  static T mul_lo(T a, T b) { return static_cast<T>(static_cast<u64>(a) * static_cast<u64>(b)); }
  static T mul_hi(T a, T b) {
    // When GCC 12 vectorises for AVX2, it uses the high half of the unsigned 16-bit product for the signed one. So the high half is
    // computed from the unsigned product: a negative a counts as a + 2^16 there, which adds b to the high half; the same holds for a
    // negative b.
    if constexpr (std::is_same_v<T, s16>) {
      const u32 high = (static_cast<u32>(static_cast<u16>(a)) * static_cast<u16>(b)) >> 16;
      return static_cast<T>(high - (a < 0 ? static_cast<u32>(b) : 0) - (b < 0 ? static_cast<u32>(a) : 0));
    }
    return static_cast<T>(mul_wide(a, b) >> (8 * sizeof(T)));
  }
  static Wide mul_wide(T a, T b) { return static_cast<Wide>(static_cast<Wide>(a) * static_cast<Wide>(b)); }
  static T mad_lo(T a, T b, T c) { return add(mul_lo(a, b), c); }
  static T mad_hi(T a, T b, T c) { return add(mul_hi(a, b), c); }
  static Wide mad_wide(T a, T b, Wide c) { return Integer<Wide>::add(mul_wide(a, b), c); }
  static T min(T a, T b) { return b < a ? b : a; }
  static T max(T a, T b) { return a < b ? b : a; }
  static T min_relu(T a, T b) { return max(min(a, b), 0); }
  static T max_relu(T a, T b) { return max(max(a, b), 0); }
  static T neg(T a) { return sub(0, a); }
  static T abs(T a) { return a < 0 ? neg(a) : a; }
  static T sad(T a, T b, T c) { return add(a < b ? sub(b, a) : sub(a, b), c); }
  static T div(T a, T b) {
    if (b == 0) return static_cast<T>(~u64{0});
    if (kSigned<T> && b == static_cast<T>(-1)) return neg(a);
    return static_cast<T>(a / b);
  }
  static T rem(T a, T b) {
    if (b == 0) return a;
    if (kSigned<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  }
  // The product of 24-bit operands has 48 bits: the result is its low 32 bits, or bits 16 to 47.
  static s64 low_24(T a) {
    return kSigned<T> ? static_cast<s32>(static_cast<u32>(a) << 8) >> 8 : static_cast<s64>(static_cast<u32>(a) & 0xffffffu);
  }
  static T mul24_lo(T a, T b) { return static_cast<T>(low_24(a) * low_24(b)); }
  static T mul24_hi(T a, T b) { return static_cast<T>((low_24(a) * low_24(b)) >> 16); }
  static T mad24_lo(T a, T b, T c) { return add(mul24_lo(a, b), c); }
  static T mad24_hi(T a, T b, T c) { return add(mul24_hi(a, b), c); }
};

s32 clamp(s64 wide) {
  return static_cast<s32>(wide < std::numeric_limits<s32>::min()   ? std::numeric_limits<s32>::min()
                          : wide > std::numeric_limits<s32>::max() ? std::numeric_limits<s32>::max()
                                                                   : wide);
}
s32 add_sat(s32 a, s32 b) { return clamp(s64{a} + b); }
s32 sub_sat(s32 a, s32 b) { return clamp(s64{a} - b); }
s32 mad_hi_sat(s32 a, s32 b, s32 c) { return clamp(s64{Integer<s32>::mul_hi(a, b)} + c); }
s32 mad24_hi_sat(s32 a, s32 b, s32 c) { return clamp(s64{Integer<s32>::mul24_hi(a, b)} + c); }

/// F applied to both halves, as integers of the type.
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
  if (part == 2 && bytes_of(type) == 8) d.fail("'.wide' needs operands of 16 or 32 bits");
  if (adds && part == 1 && d.take("sat")) {
    if (type != Type::s32) d.fail("'.sat' needs s32");
    return elementwise<mad_hi_sat>();
  }
  return for_integer(d, type, [&]<class T>() -> Handler {
    if constexpr (sizeof(T) < 8)
      if (part == 2) return adds ? elementwise<Integer<T>::mad_wide>() : elementwise<Integer<T>::mul_wide>();
    if (adds) return part == 0 ? elementwise<Integer<T>::mad_lo>() : elementwise<Integer<T>::mad_hi>();
    return part == 0 ? elementwise<Integer<T>::mul_lo>() : elementwise<Integer<T>::mul_hi>();
  });
}

Handler choose_24(Decoder& d, Type type, bool adds) {
  const int part = d.take_one({"lo", "hi"}, "one of '.lo' and '.hi' is missing");
  if (adds && part == 1 && type == Type::s32 && d.take("sat")) return elementwise<mad24_hi_sat>();
  return for_32(d, type, [&]<class T>() -> Handler {
    if (adds) return part == 0 ? elementwise<Integer<T>::mad24_lo>() : elementwise<Integer<T>::mad24_hi>();
    return part == 0 ? elementwise<Integer<T>::mul24_lo>() : elementwise<Integer<T>::mul24_hi>();
  });
}

/// The handler for two halves in a register of 32 bits.
Handler choose_packed(Decoder& d, std::string_view base, bool is_signed) {
  if (base == "add") return elementwise<of_halves<Integer<u16>::add>>();
  if (base != "min" && base != "max") return nullptr;
  const bool is_min = base == "min";
  if (is_signed && d.take("relu"))
    return is_min ? elementwise<of_halves<Integer<s16>::min_relu>>() : elementwise<of_halves<Integer<s16>::max_relu>>();
  if (is_signed) return is_min ? elementwise<of_halves<Integer<s16>::min>>() : elementwise<of_halves<Integer<s16>::max>>();
  return is_min ? elementwise<of_halves<Integer<u16>::min>>() : elementwise<of_halves<Integer<u16>::max>>();
}

/// The handler of the operation on this type; null if there is none.
Handler choose(Decoder& d, Type type, std::string_view base, int part) {
  if (type == Type::u16x2 || type == Type::s16x2) return choose_packed(d, base, type == Type::s16x2);
  if (base == "mul" || base == "mad") return choose_multiply(d, type, base == "mad", part);
  if (base == "mul24" || base == "mad24") return choose_24(d, type, base == "mad24");
  const bool is_sum = base == "add" || base == "sub", is_extreme = base == "min" || base == "max";
  if (is_sum && d.take("sat")) {
    if (type != Type::s32) d.fail("'.sat' needs s32");
    return base == "add" ? elementwise<add_sat>() : elementwise<sub_sat>();
  }
  if (is_extreme && d.take("relu")) {
    if (type != Type::s32) d.fail("'.relu' needs s32");
    return base == "min" ? elementwise<Integer<s32>::min_relu>() : elementwise<Integer<s32>::max_relu>();
  }
  return for_integer(d, type, [&]<class T>() -> Handler {
    if (base == "add") return elementwise<Integer<T>::add>();
    if (base == "sub") return elementwise<Integer<T>::sub>();
    if (base == "min") return elementwise<Integer<T>::min>();
    if (base == "max") return elementwise<Integer<T>::max>();
    if (base == "div") return elementwise<Integer<T>::div>();
    if (base == "rem") return elementwise<Integer<T>::rem>();
    if (base == "sad") return elementwise<Integer<T>::sad>();
    if (base == "neg") return elementwise<Integer<T>::neg>();
    if constexpr (kSigned<T>)
      if (base == "abs") return elementwise<Integer<T>::abs>();
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
  d.take_operands(4, {4, 4, 4});
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
  if (base == "neg" || base == "abs") return d.take_operands(bytes, {bytes});
  if (base == "mad" || base == "mad24" || base == "sad") return d.take_operands(wide, {bytes, bytes, wide});
  d.take_operands(wide, {bytes, bytes});
}

}  // namespace tilewright::rt::emulator
