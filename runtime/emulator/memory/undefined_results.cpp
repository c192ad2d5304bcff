// The rules by which undefined bytes propagate from sources to results, one function for each rule.
#include "runtime/emulator/memory/undefined_results.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "runtime/emulator/state/register_file.h"

namespace tilewright::rt::emulator {
namespace {

constexpr Mask bit(int lane) { return Mask{1} << lane; }

bool is_source(const FlowOperand& operand) {
  return !operand.is_write && !operand.is_address && operand.field != kGuardField && operand.field != kMembersField;
}

class Result {
 public:
  Result(const Warp& warp, const Instruction& i, const FlowOperand& destination, Mask mask)
      : warp_(warp),
        i_(i),
        flow_(warp.kernel->flows[i.index]),
        operands_(std::span(warp.kernel->flow_operands).subspan(flow_.first, flow_.count)),
        to_(destination),
        bytes_(std::max<std::size_t>(destination.bytes, 1)),
        mask_(mask) {}

  UndefinedLanes find() const {
    switch (flow_.rule) {
      case FlowRule::any: return everywhere(some());
      case FlowRule::group: return everywhere((some() & mask_) != 0 ? kAllLanes : 0);
      case FlowRule::bytes: return to_.bytes == 0 ? everywhere(some()) : by_parts(1);
      case FlowRule::halves: return by_halves();
      case FlowRule::upwards: return upwards();
      case FlowRule::product: return product();
      case FlowRule::choice: return chosen();
      case FlowRule::conjunction: return decided(false);
      case FlowRule::disjunction: return decided(true);
      case FlowRule::join: return joined();
      case FlowRule::split: return parts_of(source(1), (to_.field - kExtraField - i_.first) * to_.bytes);
      case FlowRule::pair: return pair();
      case FlowRule::resize: return resized();
      case FlowRule::shift: return shifted();
      case FlowRule::funnel: return funnelled();
      case FlowRule::field: return field();
      case FlowRule::insertion: return inserted();
      case FlowRule::permutation: return permuted();
      case FlowRule::load:
      case FlowRule::defined:
      case FlowRule::shuffle: return {};
    }
    return {};
  }

 private:
  /// The undefined bytes of the source in this field. Constants have none.
  UndefinedLanes source(u32 field) const {
    for (const FlowOperand& operand : operands_)
      if (operand.field == field && is_source(operand)) return of(operand);
    return {};
  }
  UndefinedLanes of(const FlowOperand& operand) const { return warp_.undefined.by_byte(operand.slot, operand.bytes); }

  template <class F>
  void each_source(F f) const {
    for (const FlowOperand& operand : operands_)
      if (is_source(operand)) f(operand, of(operand));
  }

  /// The lanes in which a source has an undefined byte that affects the result.
  Mask some() const {
    Mask lanes = 0;
    each_source([&](const FlowOperand& operand, const UndefinedLanes& undefined) {
      const bool some_count = flow_.source_bytes != 0 && operand.bytes != 0;
      for (std::size_t b = 0; b < (some_count ? flow_.source_bytes : kMostRegisterBytes); ++b) lanes |= undefined.of_byte[b];
    });
    return lanes;
  }

  UndefinedLanes everywhere(Mask lanes) const {
    UndefinedLanes out;
    std::fill_n(out.of_byte.begin(), bytes_, lanes);
    return out;
  }

  /// Each part of `part_bytes` bytes depends on the same part of the sources, and on predicates.
  UndefinedLanes by_parts(std::size_t part_bytes) const {
    UndefinedLanes out;
    each_source([&](const FlowOperand& operand, const UndefinedLanes& undefined) {
      for (std::size_t b = 0; b < bytes_; ++b) {
        if (operand.bytes == 0) {
          out.of_byte[b] |= undefined.of_byte[0];
          continue;
        }
        for (std::size_t k = b / part_bytes * part_bytes; k < (b / part_bytes + 1) * part_bytes; ++k)
          out.of_byte[b] |= undefined.of_byte[k];
      }
    });
    return out;
  }

  UndefinedLanes by_halves() const {
    std::array<Mask, 2> halves{};
    each_source([&](const FlowOperand& operand, const UndefinedLanes& undefined) {
      for (std::size_t b = 0; b < kMostRegisterBytes; ++b) {
        if (operand.bytes == 0)
          halves[0] |= undefined.of_byte[b], halves[1] |= undefined.of_byte[b];
        else if (b < operand.bytes)
          halves[b / (operand.bytes / 2u)] |= undefined.of_byte[b];
      }
    });
    UndefinedLanes out;
    if (to_.bytes == 0) return everywhere(halves[to_.field == 0 ? 0 : 1]);
    for (std::size_t b = 0; b < bytes_; ++b) out.of_byte[b] = halves[b / (bytes_ / 2)];
    return out;
  }

  UndefinedLanes upwards() const {
    UndefinedLanes out;
    each_source([&](const FlowOperand&, const UndefinedLanes& undefined) {
      Mask below = 0;
      for (std::size_t b = 0; b < bytes_; ++b) out.of_byte[b] |= below |= undefined.of_byte[b];
    });
    return out;
  }

  u64 factor_of(u32 field, int lane) const {
    u64 value = 0;
    std::memcpy(&value, warp_.registers + i_.slot[field] + lane * flow_.source_bytes, flow_.source_bytes);
    return value;
  }

  /// As for a sum; a product with a defined power of two is a shift.
  UndefinedLanes product() const {
    UndefinedLanes out = upwards();
    for (const u32 field : {1u, 2u}) {
      const UndefinedLanes other = source(3 - field);
      for (const int lane : lanes_of(other.any() & ~source(field).any() & mask_)) {
        const u64 factor = factor_of(field, lane);
        if (!std::has_single_bit(factor)) continue;
        const int by = std::countr_zero(factor), bits = 8 * flow_.source_bytes;
        for (std::size_t b = 0; b < bytes_; ++b) {
          const int at = static_cast<int>(8 * b) - by;
          const bool has_sign = flow_.is_signed && at + 7 >= bits;
          const Mask lanes = of_bits(other, at, at + 7, bits) | (has_sign ? of_bits(other, bits - 1, bits - 1, bits) : 0);
          out.of_byte[b] = (out.of_byte[b] & ~bit(lane)) | (lanes & bit(lane));
        }
      }
    }
    return out;
  }

  /// If the predicate is undefined, so are the bytes in which the two sources differ: for 1 and 0, only the lowest byte.
  UndefinedLanes chosen() const {
    const UndefinedLanes first = source(1), second = source(2);
    const Mask unsure = source(3).of_byte[0], takes_first = read_predicate(warp_, i_, 3);
    UndefinedLanes out;
    for (std::size_t b = 0; b < bytes_; ++b) {
      out.of_byte[b] = ~unsure & ((first.of_byte[b] & takes_first) | (second.of_byte[b] & ~takes_first));
      for (const int lane : lanes_of(unsure & mask_))
        if (byte_of(1, lane, b) != byte_of(2, lane, b)) out.of_byte[b] |= bit(lane);
      out.of_byte[b] |= unsure & (first.of_byte[b] | second.of_byte[b]);
    }
    return out;
  }

  /// Byte b of the source in this field, which is as wide as the result; the source may be a constant.
  std::byte byte_of(int field, int lane, std::size_t b) const {
    return warp_
        .registers[static_cast<std::size_t>(i_.slot[static_cast<std::size_t>(field)]) + static_cast<std::size_t>(lane) * to_.bytes + b];
  }

  /// The lanes in which byte b of the source in this field has no bit set, or (`all_bits`) all bits set; the source may be a constant.
  Mask lanes_that_are(int field, std::size_t b, bool all_bits) const {
    if (to_.bytes == 0) return all_bits ? read_predicate(warp_, i_, field) : ~read_predicate(warp_, i_, field);
    const std::byte wanted{static_cast<unsigned char>(all_bits ? 0xff : 0)};
    Mask lanes = 0;
    for (int lane = 0; lane < kLanes; ++lane)
      if (byte_of(field, lane, b) == wanted) lanes |= bit(lane);
    return lanes;
  }

  /// A defined byte without set bits decides a conjunction; one with all bits set decides a disjunction.
  UndefinedLanes decided(bool all_bits) const {
    const UndefinedLanes first = source(1), second = source(2);
    UndefinedLanes out;
    for (std::size_t b = 0; b < bytes_; ++b) {
      const Mask x = first.of_byte[b], y = second.of_byte[b];
      if ((x | y) == 0) continue;
      out.of_byte[b] = (x | y) & ~(lanes_that_are(1, b, all_bits) & ~x) & ~(lanes_that_are(2, b, all_bits) & ~y);
    }
    return out;
  }

  /// The destination's bytes are the bytes of the source from `first` on.
  UndefinedLanes parts_of(const UndefinedLanes& whole, std::size_t first) const {
    UndefinedLanes out;
    std::copy_n(whole.of_byte.begin() + static_cast<std::ptrdiff_t>(first), bytes_, out.of_byte.begin());
    return out;
  }

  UndefinedLanes joined() const {
    UndefinedLanes out;
    each_source([&](const FlowOperand& operand, const UndefinedLanes& undefined) {
      const std::size_t first = std::size_t{operand.field - kExtraField - i_.first} * operand.bytes;
      for (std::size_t b = 0; b < operand.bytes && first + b < bytes_; ++b) out.of_byte[first + b] = undefined.of_byte[b];
    });
    return out;
  }

  UndefinedLanes pair() const {
    const Mask high = source(1).any(), low = source(2).any();
    UndefinedLanes out;
    for (std::size_t b = 0; b < bytes_; ++b) out.of_byte[b] = b < bytes_ / 2 ? low : high;
    return out;
  }

  UndefinedLanes resized() const {
    const UndefinedLanes from = source(1);
    UndefinedLanes out;
    for (std::size_t b = 0; b < bytes_; ++b) {
      if (b >= flow_.result_bytes)
        out.of_byte[b] = flow_.extends_sign ? out.of_byte[flow_.result_bytes - 1u] : 0;
      else if (b < flow_.source_bytes)
        out.of_byte[b] = from.of_byte[b];
      else
        out.of_byte[b] = flow_.is_signed ? from.of_byte[flow_.source_bytes - 1u] : 0;
    }
    return out;
  }

  /// The lanes in which any byte with the bits [first, last] is undefined; bytes beyond the source are defined.
  static Mask of_bits(const UndefinedLanes& undefined, int first, int last, int bits) {
    Mask lanes = 0;
    first = std::max(first, 0), last = std::min(last, bits - 1);
    for (int b = first / 8; first <= last && b <= last / 8; ++b) lanes |= undefined.of_byte[static_cast<std::size_t>(b)];
    return lanes;
  }

  /// Calls f(lanes, operand of each field of `fields`) for groups of lanes whose operands are equal, since most operands are constants. If
  /// one of the operands is undefined in a lane, all bytes of its result are undefined.
  template <std::size_t N, class F>
  UndefinedLanes by_operands(const std::array<int, N>& fields, F f) const {
    std::array<Lanes<u32>, N> values;
    Mask unsure = 0;
    for (std::size_t k = 0; k < N; ++k) {
      values[k] = read<u32>(warp_, i_.slot[static_cast<std::size_t>(fields[k])]);
      unsure |= source(static_cast<u32>(fields[k])).any();
    }
    UndefinedLanes out = everywhere(unsure);
    for (Mask left = mask_ & ~unsure; left != 0;) {
      const int leader = __builtin_ctz(left);
      std::array<u32, N> operands;
      for (std::size_t k = 0; k < N; ++k) operands[k] = values[k][leader];
      Mask group = 0;
      for (const int lane : lanes_of(left)) {
        bool is_same = true;
        for (std::size_t k = 0; k < N; ++k) is_same &= values[k][lane] == operands[k];
        group |= is_same ? bit(lane) : 0;
      }
      for (std::size_t b = 0; b < bytes_; ++b) out.of_byte[b] |= f(static_cast<int>(8 * b), operands) & group;
      left &= ~group;
    }
    return out;
  }

  UndefinedLanes shifted() const {
    const UndefinedLanes from = source(1);
    const int bits = static_cast<int>(8 * bytes_);
    return by_operands<1>({2}, [&](int at, const std::array<u32, 1>& operands) {
      const int by = static_cast<int>(std::min(operands[0], static_cast<u32>(bits)));
      if (flow_.goes_left) return of_bits(from, at - by, at - by + 7, bits);
      const bool has_sign = flow_.is_signed && at + by + 7 >= bits;
      return of_bits(from, at + by, at + by + 7, bits) | (has_sign ? of_bits(from, bits - 1, bits - 1, bits) : 0);
    });
  }

  UndefinedLanes funnelled() const {
    UndefinedLanes both = source(1);
    const UndefinedLanes high = source(2);
    std::copy_n(high.of_byte.begin(), 4, both.of_byte.begin() + 4);
    return by_operands<1>({3}, [&](int at, const std::array<u32, 1>& operands) {
      const int by = static_cast<int>(flow_.wraps ? operands[0] & 31 : std::min(operands[0], 32u));
      const int from = at + (flow_.goes_left ? 32 - by : by);
      return of_bits(both, from, from + 7, 64);
    });
  }

  UndefinedLanes field() const {
    const UndefinedLanes from = source(1);
    const int bits = static_cast<int>(8 * bytes_);
    return by_operands<2>({2, 3}, [&](int at, const std::array<u32, 2>& operands) {
      const int position = static_cast<int>(operands[0] & 255), length = static_cast<int>(operands[1] & 255);
      const int sign_at = std::min(position + length - 1, bits - 1);
      const bool has_sign = flow_.is_signed && length > 0 && (at + 7 >= length || position + at + 7 >= bits);
      return of_bits(from, position + at, position + std::min(at + 8, length) - 1, bits) |
             (has_sign ? of_bits(from, sign_at, sign_at, bits) : 0);
    });
  }

  UndefinedLanes inserted() const {
    const UndefinedLanes field = source(1), rest = source(2);
    const int bits = static_cast<int>(8 * bytes_);
    return by_operands<2>({3, 4}, [&](int at, const std::array<u32, 2>& operands) {
      const int position = static_cast<int>(operands[0] & 255), end = position + static_cast<int>(operands[1] & 255);
      const bool keeps_some = at < position || at + 8 > end;
      return of_bits(field, std::max(at, position) - position, std::min(at + 8, end) - 1 - position, bits) |
             (keeps_some ? of_bits(rest, at, at + 7, bits) : 0);
    });
  }

  UndefinedLanes permuted() const {
    UndefinedLanes both = source(1);
    const UndefinedLanes second = source(2);
    std::copy_n(second.of_byte.begin(), 4, both.of_byte.begin() + 4);
    return by_operands<1>({3}, [&](int at, const std::array<u32, 1>& operands) { return both.of_byte[(operands[0] >> (at / 2)) & 7]; });
  }

  const Warp& warp_;
  const Instruction& i_;
  const ValueFlow& flow_;
  std::span<const FlowOperand> operands_;
  const FlowOperand& to_;
  std::size_t bytes_;  // of the destination; 1 for a predicate
  Mask mask_;
};

}  // namespace

UndefinedLanes undefined_result(const Warp& warp, const Instruction& i, const FlowOperand& destination, Mask mask) {
  return Result(warp, i, destination, mask).find();
}

}  // namespace tilewright::rt::emulator
