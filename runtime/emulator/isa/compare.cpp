// Comparisons into predicates and registers, and selection by them.
#include <type_traits>

#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/simd/small_float.h"
#include "runtime/emulator/state/register_file.h"

namespace tilewright::rt::emulator {
namespace {

// The relations of numbers, then those that also hold if an operand is NaN.
enum class Compare : u8 { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };

template <Compare compare, class T>
bool holds(T a, T b) {
  const bool is_nan = a != a || b != b;
  switch (compare) {
    case Compare::eq: return a == b;
    case Compare::ne: return !is_nan && a != b;
    case Compare::lt: return a < b;
    case Compare::le: return a <= b;
    case Compare::gt: return a > b;
    case Compare::ge: return a >= b;
    case Compare::equ: return is_nan || a == b;
    case Compare::neu: return a != b;
    case Compare::ltu: return !(a >= b);
    case Compare::leu: return !(a > b);
    case Compare::gtu: return !(a <= b);
    case Compare::geu: return !(a < b);
    case Compare::num: return !is_nan;
    case Compare::nan: return is_nan;
  }
  return false;
}

/// The lanes whose operands are in a relation. `of_upper`: compares the upper halves of pairs.
using Relation = Mask (*)(const Warp&, const Instruction&, bool of_upper);

enum class Combine : u8 { nothing, bit_and, bit_or, bit_xor };
struct CompareOptions {
  Relation relation = nullptr;
  Combine combine = Combine::nothing;  // how the result is combined with a predicate
  bool ftz = false, is_bf16 = false, of_pairs = false, to_float = false;
};
struct SelectOptions {
  bool ftz = false;
};

template <Compare compare, class T>
Mask compare_lanes(const Lanes<T>& a, const Lanes<T>& b) {
  // Each lane writes its bit to a word of its own, so that the loop becomes vector instructions.
  Lanes<Mask> bits;
  for (int lane = 0; lane < kLanes; ++lane) bits[lane] = holds<compare>(a[lane], b[lane]) ? kLaneBit[lane] : 0;
  Mask all = 0;
  for (int lane = 0; lane < kLanes; ++lane) all |= bits[lane];
  return all;
}

template <Compare compare, class T>
Mask relation(const Warp& warp, const Instruction& i, bool) {
  Lanes<T> a = read<T>(warp, i.slot[2]), b = read<T>(warp, i.slot[3]);
  if constexpr (std::is_same_v<T, float>)
    if (i.options<CompareOptions>().ftz)
      for (int lane = 0; lane < kLanes; ++lane) a[lane] = flush(a[lane]), b[lane] = flush(b[lane]);
  return compare_lanes<compare>(a, b);
}

/// One half of each word, widened to float.
template <Compare compare, class Word>
Mask relation_of_halves(const Warp& warp, const Instruction& i, bool of_upper) {
  const Lanes<Word> a = read<Word>(warp, i.slot[2]), b = read<Word>(warp, i.slot[3]);
  const bool is_bf16 = i.options<CompareOptions>().is_bf16, ftz = i.options<CompareOptions>().ftz;
  const auto widened = [&](Word word) {
    const u16 half = static_cast<u16>(of_upper ? word >> 8 >> 8 : word);
    if (is_bf16) return bf16_to_f32(half);
    return f16_to_f32(ftz && (half & 0x7c00) == 0 ? half & 0x8000 : half);
  };
  Lanes<float> x, y;
  for (int lane = 0; lane < kLanes; ++lane) x[lane] = widened(a[lane]), y[lane] = widened(b[lane]);
  return compare_lanes<compare>(x, y);
}

template <Compare compare>
Relation relation_for(Type type) {
  constexpr bool for_integers = compare <= Compare::ge;
  switch (type) {
    case Type::f32: return dispatch<relation<compare, float>>();
    case Type::f64: return dispatch<relation<compare, double>>();
    case Type::f16:
    case Type::bf16: return dispatch<relation_of_halves<compare, u16>>();
    case Type::f16x2:
    case Type::bf16x2: return dispatch<relation_of_halves<compare, u32>>();
    default: break;
  }
  if constexpr (for_integers) switch (type) {
      case Type::b16:
      case Type::u16: return dispatch<relation<compare, u16>>();
      case Type::s16: return dispatch<relation<compare, s16>>();
      case Type::b32:
      case Type::u32: return dispatch<relation<compare, u32>>();
      case Type::s32: return dispatch<relation<compare, s32>>();
      case Type::b64:
      case Type::u64: return dispatch<relation<compare, u64>>();
      case Type::s64: return dispatch<relation<compare, s64>>();
      default: break;
    }
  return nullptr;
}

template <std::size_t... I>
constexpr auto all_relations(std::index_sequence<I...>) {
  return std::array<Relation (*)(Type), sizeof...(I)>{relation_for<static_cast<Compare>(I)>...};
}
constexpr auto kRelations = all_relations(std::make_index_sequence<14>{});

Compare take_compare(Decoder& d, Type type) {
  const int named = d.take_one({"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
  if (named >= 0) {
    if (named >= 6 && !is_float(type)) d.fail("comparisons that know NaN are for floats");
    return static_cast<Compare>(named);
  }
  const int is_unsigned = d.take_one({"lo", "ls", "hi", "hs"}, "a comparison is missing");
  if (is_float(type) || is_signed(type)) d.fail("'.lo', '.ls', '.hi' and '.hs' are for unsigned integers");
  constexpr Compare kSame[] = {Compare::lt, Compare::le, Compare::gt, Compare::ge};
  return kSame[is_unsigned];
}

Mask combine(const Warp& warp, const Instruction& i, Mask found, int field) {
  switch (i.options<CompareOptions>().combine) {
    case Combine::bit_and: return found & read_predicate(warp, i, field);
    case Combine::bit_or: return found | read_predicate(warp, i, field);
    case Combine::bit_xor: return found ^ read_predicate(warp, i, field);
    default: return found;
  }
}

// The second predicate of a pair is that of the opposite relation; for f16x2 it is that of the upper halves.
void setp(Warp& warp, const Instruction& i, Mask mask) {
  const auto& options = i.options<CompareOptions>();
  const Mask found = options.relation(warp, i, false);
  const Mask second = options.of_pairs ? options.relation(warp, i, true) : ~found;
  const Mask first = combine(warp, i, found, 4);
  if (i.slot[1] >= 0) write_mask(warp, i.slot[1], combine(warp, i, second, 4), mask);
  write_mask(warp, i.slot[0], first, mask);
}

/// set: all ones or 1.0 where the comparison holds; Instruction::value_bytes is the size of the result.
void set(Warp& warp, const Instruction& i, Mask mask) {
  const auto& options = i.options<CompareOptions>();
  const Mask low = combine(warp, i, options.relation(warp, i, false), 4);
  const u32 one_half = options.to_float ? (options.is_bf16 ? 0x3f80u : 0x3c00u) : 0xffffu;
  if (i.value_bytes == 2) {
    Lanes<u16> result;
    for (int lane = 0; lane < kLanes; ++lane) result[lane] = has_lane(low, lane) ? static_cast<u16>(one_half) : 0;
    return write(warp, i.slot[0], result, mask);
  }
  Lanes<u32> result;
  if (options.of_pairs) {
    const Mask high = combine(warp, i, options.relation(warp, i, true), 4);
    for (int lane = 0; lane < kLanes; ++lane)
      result[lane] = (has_lane(low, lane) ? one_half : 0) | (has_lane(high, lane) ? one_half << 16 : 0);
  } else {
    const u32 one = options.to_float ? 0x3f800000u : 0xffffffffu;
    for (int lane = 0; lane < kLanes; ++lane) result[lane] = has_lane(low, lane) ? one : 0;
  }
  write(warp, i.slot[0], result, mask);
}

/// Takes the modifiers that setp and set have in common: relation, combination and flushing.
void take_relation(Decoder& d, Type type) {
  CompareOptions& options = d.options<CompareOptions>();
  const Compare compare = take_compare(d, type);
  options.combine = static_cast<Combine>(d.take_one({"and", "or", "xor"}) + 1);
  options.ftz = d.take("ftz");
  if (options.ftz && type != Type::f32 && type != Type::f16 && type != Type::f16x2) d.fail("'.ftz' is for f32 and f16");
  options.is_bf16 = type == Type::bf16 || type == Type::bf16x2;
  options.of_pairs = type == Type::f16x2 || type == Type::bf16x2;
  options.relation = kRelations[static_cast<std::size_t>(compare)](type);
  if (options.relation == nullptr) d.fail("no comparison of this type");
}

void take_operands(Decoder& d, Type type) {
  const bool combines = d.options<CompareOptions>().combine != Combine::nothing;
  d.expect_operands(combines ? 4 : 3);
  d.source(2, d.operand(1), bytes_of(type), type);
  d.source(3, d.operand(2), bytes_of(type), type);
  if (combines) d.source(4, d.operand(3), 0);
}

template <class T>
void select(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<T> a = read<T>(warp, i.slot[1]), b = read<T>(warp, i.slot[2]);
  const Mask chosen = read_predicate(warp, i, 3);
  Lanes<T> result;
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = chosen & kLaneBit[lane] ? a[lane] : b[lane];
  write(warp, i.slot[0], result, mask);
}

/// a where c >= 0, else b; if c is NaN: b.
template <class T, class C>
void select_by_sign(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<T> a = read<T>(warp, i.slot[1]), b = read<T>(warp, i.slot[2]);
  const Lanes<C> c = read<C>(warp, i.slot[3]);
  Lanes<T> result;
  for (int lane = 0; lane < kLanes; ++lane) {
    C by = c[lane];
    if constexpr (std::is_same_v<C, float>)
      if (i.options<SelectOptions>().ftz) by = flush(by);
    result[lane] = by >= 0 ? a[lane] : b[lane];
  }
  write(warp, i.slot[0], result, mask);
}

template <class T>
Handler choose_select(bool by_sign, bool by_float) {
  if (!by_sign) return dispatch<select<T>>();
  return by_float ? dispatch<select_by_sign<T, float>>() : dispatch<select_by_sign<T, s32>>();
}

}  // namespace

void decode_setp(Decoder& d) {
  d.out.category = Category::compare;
  const Type type = d.take_type();
  take_relation(d, type);
  d.out.execute = setp;
  take_operands(d, type);
  const Operand& results = d.operand(0);
  if (results.kind == OperandKind::pair) {
    d.destination(0, results.parts[0], 0);
    d.destination(1, results.parts[1], 0);
  } else {
    d.destination(0, results, 0);
  }
}

void decode_set(Decoder& d) {
  d.out.category = Category::compare;
  const Type result = d.take_type(), type = d.take_type();
  take_relation(d, type);
  CompareOptions& options = d.options<CompareOptions>();
  options.to_float = is_float(result);
  options.is_bf16 |= result == Type::bf16 || result == Type::bf16x2;
  d.out.value_bytes = static_cast<u8>(bytes_of(result));
  if (d.out.value_bytes == 8) d.fail("no instruction of this type");
  d.out.execute = set;
  take_operands(d, type);
  d.destination(0, d.operand(0), bytes_of(result));
}

void decode_select(Decoder& d) {
  d.out.category = Category::compare;
  const bool by_sign = d.base() == "slct";
  d.options<SelectOptions>().ftz = by_sign && d.take("ftz");
  const Type type = d.take_type();
  const Type by = by_sign ? d.take_type() : Type::pred;
  if (by_sign && by != Type::f32 && by != Type::s32) d.fail("selects by s32 or f32");
  const int bytes = bytes_of(type);
  switch (bytes) {
    case 2: d.out.execute = choose_select<u16>(by_sign, by == Type::f32); break;
    case 4: d.out.execute = choose_select<u32>(by_sign, by == Type::f32); break;
    case 8: d.out.execute = choose_select<u64>(by_sign, by == Type::f32); break;
    default: d.fail("no instruction of this type");
  }
  d.expect_operands(4);
  d.destination(0, d.operand(0), bytes);
  d.source(1, d.operand(1), bytes, type);
  d.source(2, d.operand(2), bytes, type);
  d.source(3, d.operand(3), by_sign ? 4 : 0, by);
}

}  // namespace tilewright::rt::emulator
