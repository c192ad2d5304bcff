// Bitwise operations, shifts, bit fields and bit counts.
#include <bit>
#include <type_traits>

#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/state/register_file.h"

namespace tilewright::rt::emulator {
namespace {

template <class T>
struct Bitwise {
  static T bit_and(T a, T b) { return a & b; }
  static T bit_or(T a, T b) { return a | b; }
  static T bit_xor(T a, T b) { return a ^ b; }
  static T bit_not(T a) { return static_cast<T>(~a); }
  static T is_zero(T a) { return a == 0; }
  static T shl(T a, u32 n) { return n < kBits ? static_cast<T>(a << n) : T{0}; }
  // For signed types, a shift by too many bits leaves only copies of the sign.
  static T shr(T a, u32 n) {
    if (n >= kBits) return std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : T{0};
    return static_cast<T>(a >> n);
  }
  static T reverse(T a) {
    T result = 0;
    for (u32 i = 0; i < kBits; ++i) result |= ((a >> i) & 1) << (kBits - 1 - i);
    return result;
  }
  static u32 count_ones(T a) { return static_cast<u32>(std::popcount(a)); }
  static u32 count_leading(T a) { return static_cast<u32>(std::countl_zero(a)); }
  // The highest bit that differs from the sign bit; all ones if there is none.
  static u32 highest(T a) {
    using U = std::make_unsigned_t<T>;
    const U bits = static_cast<U>(std::is_signed_v<T> && a < 0 ? ~a : a);
    return bits == 0 ? ~0u : kBits - 1 - static_cast<u32>(std::countl_zero(bits));
  }
  static u32 highest_shift(T a) {
    const u32 at = highest(a);
    return at == ~0u ? at : kBits - 1 - at;
  }

  static constexpr u32 kBits = 8 * sizeof(T);
};

u32 funnel_left(u32 low, u32 high, u32 n) { return n == 0 ? high : n >= 32 ? low : (high << n) | (low >> (32 - n)); }
u32 funnel_right(u32 low, u32 high, u32 n) { return n == 0 ? low : n >= 32 ? high : (low >> n) | (high << (32 - n)); }
u32 shf_l_wrap(u32 a, u32 b, u32 n) { return funnel_left(a, b, n & 31); }
u32 shf_r_wrap(u32 a, u32 b, u32 n) { return funnel_right(a, b, n & 31); }
u32 shf_l_clamp(u32 a, u32 b, u32 n) { return funnel_left(a, b, n < 32 ? n : 32); }
u32 shf_r_clamp(u32 a, u32 b, u32 n) { return funnel_right(a, b, n < 32 ? n : 32); }

/// The field of `length` bits at `position`; bits above the value's top are copies of the sign (zero if unsigned).
template <class T>
T extract(T value, u32 position, u32 length) {
  using U = std::make_unsigned_t<T>;
  constexpr u32 kTop = 8 * sizeof(T) - 1;
  position &= 255, length &= 255;
  const u32 sign_at = std::min(position + length - 1, kTop);
  const bool sign = std::is_signed_v<T> && length != 0 && ((static_cast<U>(value) >> sign_at) & 1);
  U field = 0;
  for (u32 i = 0; i <= kTop; ++i) {
    const bool bit = i < length && position + i <= kTop ? (static_cast<U>(value) >> (position + i)) & 1 : sign;
    field |= static_cast<U>(bit) << i;
  }
  return static_cast<T>(field);
}

template <class T>
T insert(T field, T value, u32 position, u32 length) {
  constexpr u32 kBits = 8 * sizeof(T);
  position &= 255, length &= 255;
  if (position >= kBits) return value;
  const T mask = static_cast<T>((length >= kBits ? ~T{0} : static_cast<T>((T{1} << length) - 1)) << position);
  return static_cast<T>((value & ~mask) | ((field << position) & mask));
}

u32 mask_of(u32 position, u32 width) {
  const u32 ones = width >= 32 ? ~0u : (1u << width) - 1;
  return position >= 32 ? 0 : ones << position;
}
u32 bmsk_wrap(u32 a, u32 b) { return mask_of(a & 31, b & 31); }
u32 bmsk_clamp(u32 a, u32 b) { return mask_of(a, b); }

/// The low `n` bits of a value, extended: .clamp leaves values unchanged for more than 32 bits, .wrap takes n modulo 32.
template <class T>
T sign_extend(T a, u32 n) {
  if (n >= 32) return a;
  if (n == 0) return 0;
  const u32 shift = 32 - n;
  return static_cast<T>(static_cast<T>(static_cast<u32>(a) << shift) >> shift);
}
template <class T>
struct SignExtend {
  static T wrap(T a, u32 n) { return sign_extend<T>(a, n & 31); }
  static T clamp(T a, u32 n) { return sign_extend<T>(a, n); }
};

/// The n-th set bit counted from `base`, upwards for a positive n and downwards for a negative one; for 0, the bit at the base itself.
u32 nth_set(u32 mask, u32 base, s32 n) {
  if (base > 31) return ~0u;
  if (n == 0) return (mask >> base) & 1 ? base : ~0u;
  const int step = n > 0 ? 1 : -1;
  s32 left = n > 0 ? n : -n;
  for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step)
    if (((mask >> at) & 1) && --left == 0) return static_cast<u32>(at);
  return ~0u;
}

u32 select_byte(u32 a, u32 b, u32 selector) {
  const u64 both = (static_cast<u64>(b) << 32) | a;
  const u32 byte = static_cast<u32>(both >> (8 * (selector & 7))) & 255;
  return selector & 8 ? (byte & 128 ? 255u : 0u) : byte;
}
u32 bytes_by(u32 a, u32 b, u32 s0, u32 s1, u32 s2, u32 s3) {
  return select_byte(a, b, s0) | select_byte(a, b, s1) << 8 | select_byte(a, b, s2) << 16 | select_byte(a, b, s3) << 24;
}
u32 prmt(u32 a, u32 b, u32 c) { return bytes_by(a, b, c & 15, (c >> 4) & 15, (c >> 8) & 15, (c >> 12) & 15); }
u32 prmt_f4e(u32 a, u32 b, u32 c) { return c &= 3, bytes_by(a, b, c, c + 1, c + 2, c + 3); }
u32 prmt_b4e(u32 a, u32 b, u32 c) { return c &= 3, bytes_by(a, b, c, (c + 7) & 7, (c + 6) & 7, (c + 5) & 7); }
u32 prmt_rc8(u32 a, u32 b, u32 c) { return c &= 3, bytes_by(a, b, c, c, c, c); }
u32 prmt_ecl(u32 a, u32 b, u32 c) { return c &= 3, bytes_by(a, b, c, std::max(1u, c), std::max(2u, c), 3); }
u32 prmt_ecr(u32 a, u32 b, u32 c) { return c &= 3, bytes_by(a, b, 0, std::min(1u, c), std::min(2u, c), c); }
u32 prmt_rc16(u32 a, u32 b, u32 c) { return c = (c & 1) * 2, bytes_by(a, b, c, c + 1, c, c + 1); }

/// Combines three words bit by bit: the table's bit with index 4 a + 2 b + c is the result for the bits a, b, c.
Lanes<u32> bits_by_table(u32 table, const Lanes<u32>& a, const Lanes<u32>& b, const Lanes<u32>& c) {
  Lanes<u32> result;
  for (int lane = 0; lane < kLanes; ++lane) {
    u32 r = 0;
    for (u32 k = 0; k < 8; ++k)
      if ((table >> k) & 1) r |= (k & 4 ? a[lane] : ~a[lane]) & (k & 2 ? b[lane] : ~b[lane]) & (k & 1 ? c[lane] : ~c[lane]);
    result[lane] = r;
  }
  return result;
}

enum class Combines : u8 { nothing, by_or, by_and };
struct TableOptions {
  u8 table = 0;
  Combines combines = Combines::nothing;  // how the result is combined with a predicate
};

// If the instruction has another predicate, its result is whether any bit is set, combined with that predicate: slots 4 and 5.
void lop3(Warp& warp, const Instruction& i, Mask mask) {
  const auto [table, combines] = i.options<TableOptions>();
  const auto a = read<u32>(warp, i.slot[1]), b = read<u32>(warp, i.slot[2]), c = read<u32>(warp, i.slot[3]);
  const Lanes<u32> result = bits_by_table(table, a, b, c);
  if (combines != Combines::nothing) {
    const Mask other = read_predicate(warp, i, 5);
    Mask any = 0;
    for (int lane = 0; lane < kLanes; ++lane) any |= result[lane] != 0 ? kLaneBit[lane] : 0;
    write_mask(warp, i.slot[4], combines == Combines::by_and ? any & other : any | other, mask);
  }
  write(warp, i.slot[0], result, mask);
}

enum class PredicateOp : u8 { bit_and, bit_or, bit_xor, bit_not };
struct PredicateOptions {
  PredicateOp op = PredicateOp::bit_and;
};

void predicate_logic(Warp& warp, const Instruction& i, Mask mask) {
  const PredicateOp op = i.options<PredicateOptions>().op;
  const Mask a = read_predicate(warp, i, 1), b = op == PredicateOp::bit_not ? 0 : read_predicate(warp, i, 2);
  const auto result = [&] {
    switch (op) {
      case PredicateOp::bit_and: return a & b;
      case PredicateOp::bit_or: return a | b;
      case PredicateOp::bit_xor: return a ^ b;
      default: return ~a;
    }
  };
  write_mask(warp, i.slot[0], result(), mask);
}

template <class F>
Handler for_bits(Decoder& d, int bytes, F f) {
  switch (bytes) {
    case 2: return f.template operator()<u16>();
    case 4: return f.template operator()<u32>();
    case 8: return f.template operator()<u64>();
    default: d.fail("no instruction of this type: expected 16, 32 or 64 bits");
  }
}

void decode_lop3(Decoder& d) {
  const auto combines = static_cast<Combines>(d.take_one({"or", "and"}) + 1);
  const bool has_predicate = combines != Combines::nothing;
  d.expect_type(Type::b32);
  d.expect_operands(has_predicate ? 6 : 5);
  const Operand& result = d.operand(0);
  if (has_predicate != (result.kind == OperandKind::pair)) d.fail("'.or' or '.and' and a result 'd|p' go together");
  d.destination(0, has_predicate ? result.parts[0] : result, 4);
  for (int k = 1; k < 4; ++k) d.source(k, d.operand(static_cast<std::size_t>(k)), 4);
  d.options<TableOptions>() = {static_cast<u8>(d.constant(d.operand(4))), combines};
  d.out.execute = lop3;
  if (!has_predicate) return;
  d.destination(4, result.parts[1], 0);
  d.source(5, d.operand(5), 0);
}

Handler choose_shift(Decoder& d, Type type) {
  return for_bits(d, bytes_of(type), [&]<class T>() -> Handler {
    if (d.base() == "shl") return elementwise<Bitwise<T>::shl>();
    return is_signed(type) ? elementwise<Bitwise<std::make_signed_t<T>>::shr>() : elementwise<Bitwise<T>::shr>();
  });
}

Handler choose_funnel(Decoder& d) {
  const int side = d.take_one({"l", "r"}), mode = d.take_one({"clamp", "wrap"});
  if (side < 0 || mode < 0) d.fail("expected '.l' or '.r' and '.clamp' or '.wrap'");
  if (side == 0) return mode == 0 ? elementwise<shf_l_clamp>() : elementwise<shf_l_wrap>();
  return mode == 0 ? elementwise<shf_r_clamp>() : elementwise<shf_r_wrap>();
}

Handler choose_permute(Decoder& d) {
  switch (d.take_one({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"})) {
    case 0: return elementwise<prmt_f4e>();
    case 1: return elementwise<prmt_b4e>();
    case 2: return elementwise<prmt_rc8>();
    case 3: return elementwise<prmt_ecl>();
    case 4: return elementwise<prmt_ecr>();
    case 5: return elementwise<prmt_rc16>();
    default: return elementwise<prmt>();
  }
}

/// The functions on a 32- or 64-bit type whose result is a count or a similar value.
Handler choose_count(Decoder& d, Type type, bool shift) {
  const std::string_view base = d.base();
  const auto pick = [&]<class U>() -> Handler {
    using S = std::make_signed_t<U>;
    if (base == "popc") return elementwise<Bitwise<U>::count_ones>();
    if (base == "clz") return elementwise<Bitwise<U>::count_leading>();
    if (base == "brev") return elementwise<Bitwise<U>::reverse>();
    if (is_signed(type)) return shift ? elementwise<Bitwise<S>::highest_shift>() : elementwise<Bitwise<S>::highest>();
    return shift ? elementwise<Bitwise<U>::highest_shift>() : elementwise<Bitwise<U>::highest>();
  };
  return bytes_of(type) == 8 ? pick.operator()<u64>() : pick.operator()<u32>();
}

Handler choose_field(Type type) {
  switch (type) {
    case Type::s32: return elementwise<extract<s32>>();
    case Type::u64: return elementwise<extract<u64>>();
    case Type::s64: return elementwise<extract<s64>>();
    default: return elementwise<extract<u32>>();
  }
}

}  // namespace

void decode_logic(Decoder& d) {
  d.out.category = Category::logic;
  const std::string_view base = d.base();
  if (base == "lop3") return decode_lop3(d);
  const Type type = d.take_type();
  const bool is_unary = base == "not" || base == "cnot";
  const int bytes = type == Type::pred ? 0 : bytes_of(type);
  d.take_operands(bytes, std::vector<int>(is_unary ? 1 : 2, bytes));
  if (type == Type::pred) {
    d.options<PredicateOptions>().op = base == "and"   ? PredicateOp::bit_and
                                       : base == "or"  ? PredicateOp::bit_or
                                       : base == "xor" ? PredicateOp::bit_xor
                                                       : PredicateOp::bit_not;
    d.out.execute = predicate_logic;
    return;
  }
  d.out.execute = for_bits(d, bytes, [&]<class T>() -> Handler {
    if (base == "and") return elementwise<Bitwise<T>::bit_and>();
    if (base == "or") return elementwise<Bitwise<T>::bit_or>();
    if (base == "xor") return elementwise<Bitwise<T>::bit_xor>();
    return base == "not" ? elementwise<Bitwise<T>::bit_not>() : elementwise<Bitwise<T>::is_zero>();
  });
}

void decode_bits(Decoder& d) {
  d.out.category = Category::logic;
  const std::string_view base = d.base();
  const Handler funnel = base == "shf" ? choose_funnel(d) : nullptr;
  const bool is_wrapped =
      (base == "bmsk" || base == "szext") && d.take_one({"wrap", "clamp"}, "one of '.wrap' and '.clamp' is missing") == 0;
  const bool shift = base == "bfind" && d.take("shiftamt");
  const Type type = d.take_type();
  const int bytes = bytes_of(type);
  const auto take = [&](Handler execute, int result, const std::vector<int>& sources) {
    d.out.execute = execute;
    d.take_operands(result, sources);
  };
  if (base == "shl" || base == "shr") return take(choose_shift(d, type), bytes, {bytes, 4});
  if (bytes != 4 && bytes != 8) d.fail("no instruction of this type: expected 32 or 64 bits");
  if (base == "shf") return take(funnel, bytes, {4, 4, 4});
  if (base == "bfe") return take(choose_field(type), bytes, {bytes, 4, 4});
  if (base == "bfi") return take(bytes == 8 ? elementwise<insert<u64>>() : elementwise<insert<u32>>(), bytes, {bytes, bytes, 4, 4});
  if (base == "bmsk") return take(is_wrapped ? elementwise<bmsk_wrap>() : elementwise<bmsk_clamp>(), bytes, {4, 4});
  if (base == "szext" && is_signed(type))
    return take(is_wrapped ? elementwise<SignExtend<s32>::wrap>() : elementwise<SignExtend<s32>::clamp>(), bytes, {4, 4});
  if (base == "szext")
    return take(is_wrapped ? elementwise<SignExtend<u32>::wrap>() : elementwise<SignExtend<u32>::clamp>(), bytes, {4, 4});
  if (base == "fns") return take(elementwise<nth_set>(), bytes, {4, 4, 4});
  if (base == "prmt") return take(choose_permute(d), bytes, {4, 4, 4});
  take(choose_count(d, type, shift), base == "brev" ? bytes : 4, {bytes});
}

}  // namespace tilewright::rt::emulator
