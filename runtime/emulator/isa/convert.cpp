// Conversions between all types, with every rounding and saturation. The general path goes through 64-bit integers or double, which hold
// every value exactly; frequent conversions have loops of their own.
#include <cmath>
#include <limits>

#include "runtime/emulator/isa/directed_rounding.h"
#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/state/register_file.h"

namespace tilewright::rt::emulator {
namespace {

struct Conversion {
  Type to, from;
  Rounding rounding;
  bool to_integral, ftz, sat, satfinite, relu, pair;
  u8 to_bytes, from_bytes;  // sizes of the registers, which may be wider than the types
};

const FloatFormat& format_of(Type type) {
  switch (type) {
    case Type::f16:
    case Type::f16x2: return kF16;
    case Type::bf16:
    case Type::bf16x2: return kBf16;
    case Type::tf32: return kTf32;
    case Type::e4m3:
    case Type::e4m3x2: return kE4m3;
    case Type::e5m2:
    case Type::e5m2x2: return kE5m2;
    default: return kF32;
  }
}

u64 fetch(const Warp& warp, s32 slot, int bytes, int lane) {
  u64 bits = 0;
  std::memcpy(&bits, warp.registers + slot + lane * bytes, static_cast<std::size_t>(bytes));
  return bits;
}

void put(Warp& warp, s32 slot, int bytes, int lane, u64 bits) {
  std::memcpy(warp.registers + slot + lane * bytes, &bits, static_cast<std::size_t>(bytes));
}

u64 sign_extended(u64 bits, int bytes) {
  const int shift = 64 - 8 * bytes;
  return static_cast<u64>(static_cast<s64>(bits << shift) >> shift);
}
u64 zero_extended(u64 bits, int bytes) {
  const int shift = 64 - 8 * bytes;
  return (bits << shift) >> shift;
}
u64 extended(u64 bits, Type type) { return is_signed(type) ? sign_extended(bits, bytes_of(type)) : zero_extended(bits, bytes_of(type)); }

double read_float(u64 bits, Type type, bool ftz) {
  if (type == Type::f64) return std::bit_cast<double>(bits);
  if (type == Type::f32) {
    const float value = std::bit_cast<float>(static_cast<u32>(bits));
    return ftz ? flush(value) : value;
  }
  return widen(bits & ((u64{1} << format_of(type).bits()) - 1), format_of(type));
}

double rounded_to_integral(double x, Rounding rounding) {
  switch (rounding) {
    case Rounding::zero: return std::trunc(x);
    case Rounding::down: return std::floor(x);
    case Rounding::up: return std::ceil(x);
    default: return std::nearbyint(x);
  }
}

u64 float_to_integer(double x, const Conversion& c) {
  const int bits = 8 * bytes_of(c.to);
  if (std::isnan(x)) return c.from != Type::f64 && bits != 64 ? 0 : u64{1} << (bits - 1);
  x = rounded_to_integral(x, c.rounding);
  if (is_signed(c.to)) {
    const double limit = std::ldexp(1.0, bits - 1);
    if (x >= limit) return (u64{1} << (bits - 1)) - 1;
    if (x < -limit) return ~u64{0} << (bits - 1);
    return static_cast<u64>(static_cast<s64>(x));
  }
  if (x <= 0) return 0;
  if (x >= std::ldexp(1.0, bits)) return ~u64{0} >> (64 - bits);
  return static_cast<u64>(x);
}

/// Converts an integer to a double that rounds to fewer than 51 bits in the same way as the integer itself.
double to_odd(u64 bits, bool negative) {
  u64 magnitude = negative ? 0 - bits : bits;
  if (magnitude >> 53) {
    const int surplus = 64 - std::countl_zero(magnitude) - 53;
    const u64 lost = magnitude & ((u64{1} << surplus) - 1);
    magnitude = ((magnitude >> surplus) | (lost != 0)) << surplus;
  }
  const double value = static_cast<double>(magnitude);
  return negative ? -value : value;
}

u64 integer_to_float(u64 bits, const Conversion& c) {
  const bool negative = is_signed(c.from) && static_cast<s64>(bits) < 0;
  if (c.to == Type::f64) {
    const HostRounding scope(c.rounding);
    volatile s64 as_signed = static_cast<s64>(bits);
    volatile u64 as_unsigned = bits;
    volatile double result = is_signed(c.from) ? static_cast<double>(as_signed) : static_cast<double>(as_unsigned);
    return std::bit_cast<u64>(static_cast<double>(result));
  }
  return round_to(to_odd(bits, negative), format_of(c.to), c.rounding);
}

u64 integer_to_integer(u64 bits, const Conversion& c) {
  if (!c.sat) return bits;
  const int width = 8 * bytes_of(c.to);
  const bool negative = is_signed(c.from) && static_cast<s64>(bits) < 0;
  if (!is_signed(c.to)) {
    const u64 most = ~u64{0} >> (64 - width);
    return negative ? 0 : std::min(bits, most);
  }
  const u64 most = (u64{1} << (width - 1)) - 1;
  if (negative) return static_cast<u64>(std::max(static_cast<s64>(bits), -static_cast<s64>(most) - 1));
  return std::min(bits, most);
}

u64 float_to_float(double x, const Conversion& c) {
  if (c.to_integral) x = rounded_to_integral(x, c.rounding);
  if (c.sat) x = saturate(x);
  if (c.relu && (x < 0 || (x == 0 && std::signbit(x)))) x = 0;
  if (c.to == Type::f64) return std::bit_cast<u64>(x);
  const FloatFormat& format = format_of(c.to);
  u64 bits = round_to(x, format, c.to_integral ? Rounding::nearest_even : c.rounding, c.satfinite);
  if (c.to == Type::f32 && c.ftz) bits = std::bit_cast<u32>(flush(std::bit_cast<float>(static_cast<u32>(bits))));
  // tf32 is f32 without the last 13 bits of its fraction; in a NaN all bits remain ones.
  if (c.to == Type::tf32) bits = bits == kTf32.nan() ? kF32.nan() : bits << 13;
  return bits;
}

u64 convert_one(u64 bits, const Conversion& c) {
  if (is_float(c.from)) {
    const double x = read_float(bits, c.from, c.ftz);
    return is_float(c.to) ? float_to_float(x, c) : float_to_integer(x, c);
  }
  bits = extended(bits, c.from);
  return is_float(c.to) ? integer_to_float(bits, c) : integer_to_integer(bits, c);
}

void convert(Warp& warp, const Instruction& i, Mask mask) {
  const Conversion c = i.options<Conversion>();
  for (const int lane : lanes_of(mask)) {
    const u64 result = convert_one(fetch(warp, i.slot[1], c.from_bytes, lane), c);
    put(warp, i.slot[0], c.to_bytes, lane, is_float(c.to) ? result : extended(result, c.to));
  }
}

/// Converts two f32 to the halves of one register; the first operand goes to the upper half.
void convert_two(Warp& warp, const Instruction& i, Mask mask) {
  const Conversion c = i.options<Conversion>();
  const int part = 4 * c.to_bytes;  // bits of one element
  for (const int lane : lanes_of(mask)) {
    const u64 high = convert_one(fetch(warp, i.slot[1], 4, lane), c), low = convert_one(fetch(warp, i.slot[2], 4, lane), c);
    put(warp, i.slot[0], c.to_bytes, lane, high << part | low);
  }
}

/// Converts a pair of one format to a pair of another format.
void convert_pair(Warp& warp, const Instruction& i, Mask mask) {
  const Conversion c = i.options<Conversion>();
  const int from = 4 * c.from_bytes, to = 4 * c.to_bytes;
  for (const int lane : lanes_of(mask)) {
    const u64 bits = fetch(warp, i.slot[1], c.from_bytes, lane);
    put(warp, i.slot[0], c.to_bytes, lane, convert_one(bits >> from, c) << to | convert_one(bits, c));
  }
}

/// cvt.pack: saturates two s32 and packs them below the remaining bits of c.
void convert_pack(Warp& warp, const Instruction& i, Mask mask) {
  const Conversion c = i.options<Conversion>();
  const int width = 8 * bytes_of(c.to);
  const u64 part = (u64{1} << width) - 1;
  for (const int lane : lanes_of(mask)) {
    const u64 high = convert_one(fetch(warp, i.slot[1], 4, lane), c) & part, low = convert_one(fetch(warp, i.slot[2], 4, lane), c) & part;
    const u64 rest = i.slot[3] < 0 ? 0 : fetch(warp, i.slot[3], 4, lane) << (2 * width);
    put(warp, i.slot[0], 4, lane, rest | high << width | low);
  }
}

template <class To, class From>
To cast(From x) {
  return static_cast<To>(x);
}
u16 narrow_f16(float x) { return f32_to_f16(x); }
u16 narrow_bf16(float x) { return f32_to_bf16(x); }
float widen_f16(u16 x) { return canonical(f16_to_f32(x)); }
float widen_bf16(u16 x) { return canonical(bf16_to_f32(x)); }
u32 narrow_f16x2(float high, float low) { return static_cast<u32>(f32_to_f16(high)) << 16 | f32_to_f16(low); }
u32 narrow_bf16x2(float high, float low) { return static_cast<u32>(f32_to_bf16(high)) << 16 | f32_to_bf16(low); }

template <class From>
Handler resize_to(int bytes) {
  return bytes == 2 ? elementwise<cast<u16, From>>() : bytes == 4 ? elementwise<cast<u32, From>>() : elementwise<cast<u64, From>>();
}

/// A loop for a conversion without modifiers; null if there is none.
Handler direct(const Conversion& c) {
  if (c.to_integral || c.ftz || c.sat || c.satfinite || c.relu) return nullptr;
  if (c.to_bytes != std::max(bytes_of(c.to), 2) || c.from_bytes != std::max(bytes_of(c.from), 2)) return nullptr;
  if (!is_float(c.to) && !is_float(c.from) && bytes_of(c.to) >= 2) switch (c.from) {
      case Type::u16: return resize_to<u16>(c.to_bytes);
      case Type::s16: return resize_to<s16>(c.to_bytes);
      case Type::u32: return resize_to<u32>(c.to_bytes);
      case Type::s32: return resize_to<s32>(c.to_bytes);
      case Type::u64: return resize_to<u64>(c.to_bytes);
      case Type::s64: return resize_to<s64>(c.to_bytes);
      default: return nullptr;
    }
  if (c.to == Type::f32 && c.from == Type::f16) return elementwise<widen_f16>();
  if (c.to == Type::f32 && c.from == Type::bf16) return elementwise<widen_bf16>();
  if (c.rounding != Rounding::nearest_even) return nullptr;
  if (c.to == Type::f16 && c.from == Type::f32) return elementwise<narrow_f16>();
  if (c.to == Type::bf16 && c.from == Type::f32) return elementwise<narrow_bf16>();
  if (c.to == Type::f32 && c.from == Type::s32) return elementwise<cast<float, s32>>();
  if (c.to == Type::f32 && c.from == Type::u32) return elementwise<cast<float, u32>>();
  return nullptr;
}

}  // namespace

void decode_convert_pack(Decoder& d) {
  d.out.category = Category::conversion;
  Conversion c{};
  if (!d.take("sat")) d.fail("expected 'cvt.pack.sat'");
  c.to = d.take_type();
  c.from = d.take_type();
  c.sat = true;
  const bool has_rest = d.try_type() == Type::b32;
  if (c.from != Type::s32 || is_float(c.to) || bytes_of(c.to) > 2 || c.to < Type::u8) d.fail("no instruction of this type");
  d.options<Conversion>() = c;
  d.out.execute = convert_pack;
  d.take_operands(4, std::vector<int>(has_rest ? 3 : 2, 4));
}

namespace {

bool is_pair(Type type) { return type == Type::f16x2 || type == Type::bf16x2 || type == Type::e4m3x2 || type == Type::e5m2x2; }

void take_rounding(Decoder& d, Conversion& c) {
  constexpr Rounding kModes[] = {Rounding::nearest_even, Rounding::zero, Rounding::down, Rounding::up, Rounding::nearest_away};
  const int to_integral = d.take_one({"rni", "rzi", "rmi", "rpi"});
  const int mode = d.take_one({"rn", "rz", "rm", "rp", "rna"});
  const bool to_float = is_float(c.to), from_float = is_float(c.from);
  if (to_integral >= 0) {
    if (!from_float) d.fail("integers need no rounding to integers");
    c.to_integral = true;
    c.rounding = kModes[to_integral];
  } else if (mode >= 0) {
    if (!to_float) d.fail("a rounding to integers such as '.rzi' is missing");
    c.rounding = kModes[mode];
  } else if (from_float && !to_float) {
    d.fail("a rounding such as '.rzi' is missing");
  } else if (to_float && c.to != c.from && (!from_float || format_of(c.to).fraction_bits < format_of(c.from).fraction_bits) &&
             c.to != Type::f64) {
    d.fail("a rounding such as '.rn' is missing");
  }
}

}  // namespace

void decode_convert(Decoder& d) {
  d.out.category = Category::conversion;
  Conversion c{};
  c.to = d.take_type();
  c.from = d.take_type();
  if (c.to == Type::pred || c.from == Type::pred || (c.to >= Type::b8 && c.to <= Type::b128) ||
      (c.from >= Type::b8 && c.from <= Type::b128))
    d.fail("no conversion of this type");
  c.ftz = d.take("ftz");
  c.sat = d.take("sat");
  c.satfinite = d.take("satfinite");
  c.relu = d.take("relu");
  take_rounding(d, c);
  c.pair = is_pair(c.to);
  if ((c.to == Type::e4m3x2 || c.to == Type::e5m2x2) && !c.satfinite) d.fail("'.satfinite' is missing");
  if (c.pair && c.from == Type::f32) {
    c.to_bytes = static_cast<u8>(bytes_of(c.to));
    d.take_operands(c.to_bytes, {4, 4}, Type::f32);
    const bool plain = c.rounding == Rounding::nearest_even && !c.relu && !c.satfinite;
    d.out.execute = plain && c.to == Type::f16x2    ? elementwise<narrow_f16x2>()
                    : plain && c.to == Type::bf16x2 ? elementwise<narrow_bf16x2>()
                                                    : convert_two;
    d.options<Conversion>() = c;
    return;
  }
  if (c.pair != is_pair(c.from)) d.fail("no conversion between a pair and a single value");
  d.expect_operands(2);
  if (c.to == Type::tf32 && c.from != Type::f32) d.fail("no conversion of this type");
  // Registers may be wider than the type that they hold.
  const auto register_bytes = [&](const Operand& operand, Type type) {
    const int bytes = d.is_register(operand) ? d.bytes_of_register(operand) : std::max(bytes_of(type), 2);
    if (bytes < bytes_of(type) || bytes == 0) d.fail("a register is too narrow for its type");
    return static_cast<u8>(bytes);
  };
  c.to_bytes = register_bytes(d.operand(0), c.to);
  c.from_bytes = d.operand(1).kind == OperandKind::special ? u8{4} : register_bytes(d.operand(1), c.from);
  d.options<Conversion>() = c;
  d.destination(0, d.operand(0), c.to_bytes);
  d.source(1, d.operand(1), c.from_bytes, c.from);
  d.out.execute = c.pair ? convert_pair : direct(c) != nullptr ? direct(c) : convert;
}

}  // namespace tilewright::rt::emulator
