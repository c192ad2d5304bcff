// Loops over lanes in C++ types: the element type selects a C++ type once, then a functor is called with plain values.
#pragma once
#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "tileir/diagnostics.h"
#include "tileir/interpreter/evaluate.h"
#include "tilewright/small_float.h"

namespace tilewright::ir {

// Codecs convert the bits of an element to a C++ value and back. 16-bit floats are carried as a double of the same value: the result of one
// + - * / sqrt in double, rounded again, is the correctly rounded one, since 53 >= 2 * 11 + 2 bits (Figueroa 1995).
template <std::integral T>
struct IntegerCodec {
  using Value = T;
  static T get(std::uint64_t w) { return static_cast<T>(w); }
  static std::uint64_t put(T v) { return static_cast<std::make_unsigned_t<T>>(v); }
};
struct BoolCodec {
  using Value = bool;
  static bool get(std::uint64_t w) { return w != 0; }
  static std::uint64_t put(bool v) { return v; }
};
struct F32Codec {
  using Value = float;
  static float get(std::uint64_t w) { return std::bit_cast<float>(static_cast<std::uint32_t>(w)); }
  static std::uint64_t put(float v) { return std::bit_cast<std::uint32_t>(v); }
};
struct F64Codec {
  using Value = double;
  static double get(std::uint64_t w) { return std::bit_cast<double>(w); }
  static std::uint64_t put(double v) { return std::bit_cast<std::uint64_t>(v); }
};
template <detail::FloatFormat F>
struct SmallFloatCodec {
  using Value = double;
  static double get(std::uint64_t w) { return detail::decode(F, static_cast<std::uint32_t>(w)); }
  static std::uint64_t put(double v) { return detail::encode(F, v); }
};
using F16Codec = SmallFloatCodec<detail::kF16>;
using BF16Codec = SmallFloatCodec<detail::kBF16>;

/// Call f.template operator()<Codec>() for the element. They require, in this order: an integer, a float, any element but a pointer.
template <class F>
decltype(auto) with_integer(Element e, F&& f) {
  switch (e) {
    case Element::i8: return f.template operator()<IntegerCodec<std::int8_t>>();
    case Element::i16: return f.template operator()<IntegerCodec<std::int16_t>>();
    case Element::i32: return f.template operator()<IntegerCodec<std::int32_t>>();
    case Element::i64: return f.template operator()<IntegerCodec<std::int64_t>>();
    case Element::u8: return f.template operator()<IntegerCodec<std::uint8_t>>();
    case Element::u16: return f.template operator()<IntegerCodec<std::uint16_t>>();
    case Element::u32: return f.template operator()<IntegerCodec<std::uint32_t>>();
    case Element::u64: return f.template operator()<IntegerCodec<std::uint64_t>>();
    default: TW_UNREACHABLE("an integer op on another element");
  }
}
template <class F>
decltype(auto) with_float(Element e, F&& f) {
  switch (e) {
    case Element::f16: return f.template operator()<F16Codec>();
    case Element::bf16: return f.template operator()<BF16Codec>();
    case Element::f32: return f.template operator()<F32Codec>();
    case Element::f64: return f.template operator()<F64Codec>();
    case Element::f8e4m3: return f.template operator()<SmallFloatCodec<detail::kF8E4M3>>();
    case Element::f8e5m2: return f.template operator()<SmallFloatCodec<detail::kF8E5M2>>();
    default: TW_UNREACHABLE("a float op on another element");
  }
}
template <class F>
decltype(auto) with_element(Element e, F&& f) {
  if (e == Element::boolean) return f.template operator()<BoolCodec>();
  return is_float(e) ? with_float(e, f) : with_integer(e, f);
}

template <class In, class Out, class F>
void map1(const Lanes& l, F f) {
  const std::uint64_t* a = l.operands[0];
  for (std::size_t i = 0; i < l.count; ++i) l.out[i] = Out::put(static_cast<typename Out::Value>(f(In::get(a[i]))));
}
template <class In, class Out, class F>
void map2(const Lanes& l, F f) {
  const std::uint64_t *a = l.operands[0], *b = l.operands[1];
  for (std::size_t i = 0; i < l.count; ++i) l.out[i] = Out::put(static_cast<typename Out::Value>(f(In::get(a[i]), In::get(b[i]))));
}

}  // namespace tilewright::ir
