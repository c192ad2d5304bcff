// The SIMD video instructions on two halves of a word (vadd2 vsub2 vabsdiff2 vmin2 vmax2) or on its four bytes.
#include <algorithm>

#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/state/register_file.h"

namespace tilewright::rt::emulator {
namespace {

enum class Part : u8 { add, sub, absdiff, min, max };

struct VideoOptions {
  Part op = Part::add;
  bool has_four_parts = false, is_result_signed = false, is_a_signed = false, is_b_signed = false, saturates = false, sums = false;
};

s64 element(u32 word, int shift, int bits, bool is_signed) {
  const u32 value = (word >> shift) & ((1u << bits) - 1);
  return is_signed && (value >> (bits - 1)) ? static_cast<s64>(value) - (s64{1} << bits) : value;
}

s64 combine(Part part, s64 a, s64 b) {
  switch (part) {
    case Part::add: return a + b;
    case Part::sub: return a - b;
    case Part::absdiff: return a > b ? a - b : b - a;
    case Part::min: return std::min(a, b);
    case Part::max: return std::max(a, b);
  }
  return 0;
}

void parts(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<u32> a = read<u32>(warp, i.slot[1]), b = read<u32>(warp, i.slot[2]), c = read<u32>(warp, i.slot[3]);
  const auto& options = i.options<VideoOptions>();
  const int bits = options.has_four_parts ? 8 : 16;
  const bool is_signed = options.is_result_signed;
  const s64 least = is_signed ? -(s64{1} << (bits - 1)) : 0, most = (s64{1} << (is_signed ? bits - 1 : bits)) - 1;
  Lanes<u32> result;
  for (int lane = 0; lane < kLanes; ++lane) {
    u32 word = 0, sum = c[lane];
    for (int shift = 0; shift < 32; shift += bits) {
      s64 value =
          combine(options.op, element(a[lane], shift, bits, options.is_a_signed), element(b[lane], shift, bits, options.is_b_signed));
      if (options.saturates) value = std::clamp(value, least, most);
      sum += static_cast<u32>(value);
      word |= (static_cast<u32>(value) & ((1u << bits) - 1)) << shift;
    }
    result[lane] = options.sums ? sum : word;
  }
  write(warp, i.slot[0], result, mask);
}

}  // namespace

void decode_video(Decoder& d) {
  d.out.category = Category::integer;
  constexpr std::string_view kNames[] = {"vadd", "vsub", "vabsdiff", "vmin", "vmax"};
  const std::string_view name = d.base().substr(0, d.base().size() - 1);
  VideoOptions& options = d.options<VideoOptions>();
  options.op = static_cast<Part>(std::find(std::begin(kNames), std::end(kNames), name) - std::begin(kNames));
  options.has_four_parts = d.base().back() == '4';
  for (bool* const is_signed : {&options.is_result_signed, &options.is_a_signed, &options.is_b_signed}) {
    const Type type = d.take_type();
    if (type != Type::u32 && type != Type::s32) d.fail("no instruction of this type: expected u32 or s32");
    *is_signed = type == Type::s32;
  }
  options.saturates = d.take("sat");
  options.sums = d.take("add");
  d.take_operands(4, {4, 4, 4});
  // Without .add, a mask would keep parts of the last operand; but masks are not supported, so all parts are written.
  d.out.execute = parts;
}

}  // namespace tilewright::rt::emulator
