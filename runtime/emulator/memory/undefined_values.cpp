// Tracks undefined values between registers and through shared memory.
#include "runtime/emulator/memory/undefined_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/emulator/memory/access.h"
#include "runtime/emulator/memory/undefined_results.h"
#include "runtime/emulator/state/register_file.h"

namespace tilewright::rt::emulator {

UndefinedLanes UndefinedRegisters::by_byte(s32 slot, int bytes) const {
  UndefinedLanes undefined;
  const std::size_t first = index(slot);
  for (std::size_t b = 0; b < count_of(bytes) && first + b < lanes_.size(); ++b) undefined.of_byte[b] = lanes_[first + b];
  return undefined;
}

void UndefinedRegisters::write(s32 slot, int bytes, Mask written, const UndefinedLanes& undefined, Origin origin) {
  const std::size_t first = index(slot), end = first + count_of(bytes);
  const bool any = (undefined.any() & written) != 0;
  if (end > lanes_.size()) {
    if (!any) return;
    lanes_.resize(end);
    origins_.resize(end);
  }
  for (std::size_t k = first; k < end; ++k) {
    const Mask before = lanes_[k], after = (before & ~written) | (undefined.of_byte[k - first] & written);
    count_ += static_cast<u32>(before == 0 && after != 0);
    count_ -= static_cast<u32>(before != 0 && after == 0);
    lanes_[k] = after;
  }
  if (any) origins_[first] = origin;
}

void UndefinedRegisters::write(s32 slot, int bytes, Mask written, Mask undefined, Origin origin) {
  UndefinedLanes whole;
  std::fill_n(whole.of_byte.begin(), count_of(bytes), undefined);
  write(slot, bytes, written, whole, origin);
}

void UndefinedRegisters::clear() {
  if (any()) std::fill(lanes_.begin(), lanes_.end(), 0);
  count_ = 0;
}

void UndefinedBytes::add(u64 offset, Origin origin) {
  if (at_.size() <= offset) at_.resize(offset + 1);
  count_ += at_[offset].is_undefined ? 0 : 1;
  at_[offset] = {true, origin};
}

void UndefinedBytes::remove(u64 offset, u64 bytes) {
  const u64 end = std::min<u64>(offset + bytes, at_.size());
  for (; offset < end; ++offset) {
    count_ -= at_[offset].is_undefined ? 1 : 0;
    at_[offset].is_undefined = false;
  }
}

void UndefinedBytes::clear() {
  at_.clear();
  count_ = 0;
}

namespace {

std::string describe(const Warp& warp, Origin origin) {
  if (origin.is_register) return fmt::format("register '{}', which no instruction has written", warp.kernel->unwritten[origin.index].name);
  return fmt::format("what the shfl.sync at {} takes from a lane that does not execute it or is not in its member mask",
                     location_text(warp, origin.index));
}

Mask bit(int lane) { return Mask{1} << lane; }

/// One instruction that the lanes of `mask` are about to execute.
class Step {
 public:
  Step(Warp& warp, const Instruction& i, Mask all, Mask mask)
      : warp_(warp),
        i_(i),
        flow_(warp.kernel->flows[i.index]),
        operands_(std::span(warp.kernel->flow_operands).subspan(flow_.first, flow_.count)),
        all_(all),
        mask_(mask) {}

  void follow() {
    if (!touches_any()) return;
    const Mask unsure = follow_guard();
    report_uses();
    if (flow_.rule == FlowRule::shuffle) return;
    find_origin();
    // All results are computed before any is written, since a result may have the slot of a source.
    std::vector<std::pair<const FlowOperand*, UndefinedLanes>> results;
    for (const FlowOperand& operand : operands_)
      if (operand.is_write)
        results.emplace_back(&operand, flow_.rule == FlowRule::load ? loaded(operand) : undefined_result(warp_, i_, operand, mask_));
    for (const auto& [operand, undefined] : results) {
      warp_.undefined.write(operand->slot, operand->bytes, mask_, undefined, origin_);
      if (unsure != 0) warp_.undefined.write(operand->slot, operand->bytes, unsure, unsure, guard_origin_);
    }
  }

 private:
  /// Whether an operand is undefined, or a loaded value may be; otherwise the instruction changes nothing.
  bool touches_any() const {
    if (flow_.rule == FlowRule::load && warp_.block->undefined.any()) return true;
    return std::any_of(operands_.begin(), operands_.end(), [&](const FlowOperand& operand) { return undefined_lanes(operand) != 0; });
  }

  Mask undefined_lanes(const FlowOperand& operand) const { return warp_.undefined.lanes(operand.slot, operand.bytes); }

  static bool is_value(const FlowOperand& operand) {
    return !operand.is_write && !operand.is_address && operand.field != kGuardField && operand.field != kMembersField;
  }

  /// Reports a use once; from then on the value counts as defined.
  void report_use(const FlowOperand& operand, Mask lanes, const char* what) {
    if (lanes == 0) return;
    const Origin origin = warp_.undefined.origin(operand.slot);
    report(warp_, i_, DiagnosticKind::undefined_value, __builtin_ctz(lanes),
           [&] { return fmt::format("{} depends on {}", what, describe(warp_, origin)); });
    warp_.undefined.write(operand.slot, operand.bytes, lanes, Mask{0}, {});
  }

  /// The lanes for which it is undefined whether they write results.
  Mask follow_guard() {
    for (const FlowOperand& operand : operands_) {
      if (operand.field != kGuardField) continue;
      const Mask lanes = undefined_lanes(operand) & all_;
      if (!flow_.has_effect) {
        guard_origin_ = warp_.undefined.origin(operand.slot);
        return lanes;
      }
      report_use(operand, lanes, i_.kind == Kind::branch ? "the branch" : "whether the instruction is executed");
    }
    return 0;
  }

  /// The lanes whose value becomes visible outside of the block, or is read back by an atomic operation.
  Mask visible_lanes() const {
    if (!flow_.stores || i_.category == Category::store_shared) return 0;
    if (i_.category != Category::store_generic) return mask_;
    Lanes<u64> address = addresses_of(warp_, i_, i_.slot[0], i_.immediate);
    return split_generic(mask_, address, Space::global);
  }

  /// The lanes in which a stored byte of the operand is undefined: a register may be wider than the stored part.
  Mask undefined_in_memory(const FlowOperand& operand) const {
    const bool is_element = i_.category == Category::store_global || i_.category == Category::store_generic;
    if (!is_element || operand.field < kExtraField) return undefined_lanes(operand);
    return warp_.undefined.lanes(operand.slot, std::min<int>(operand.bytes, i_.width));
  }

  void report_uses() {
    for (const FlowOperand& operand : operands_)
      if (operand.is_address) report_use(operand, undefined_lanes(operand) & mask_, "the address");
    const Mask visible = visible_lanes();
    for (const FlowOperand& operand : operands_) {
      if (!is_value(operand)) continue;
      if (i_.kind == Kind::indexed) report_use(operand, undefined_lanes(operand) & mask_, "the branch");
      if (visible != 0) report_use(operand, undefined_in_memory(operand) & visible, "the value");
    }
  }

  /// Finds the origin of a source that has undefined lanes.
  void find_origin() {
    for (const FlowOperand& operand : operands_)
      if (is_value(operand) && (undefined_lanes(operand) & mask_) != 0) origin_ = warp_.undefined.origin(operand.slot);
  }

  /// The lanes, by byte, that load undefined bytes into this register.
  UndefinedLanes loaded(const FlowOperand& operand) {
    UndefinedLanes undefined;
    const UndefinedBytes& bytes = warp_.block->undefined;
    if (!bytes.any() || operand.field < kExtraField) return undefined;
    if (!address_) take_address();
    const u64 offset = u64{operand.field - kExtraField - i_.first} * i_.width;
    for (const int lane : lanes_of(in_shared_)) {
      const u64 first = (*address_)[lane] + offset;
      for (u64 b = 0; b < i_.width; ++b) {
        if (!bytes.has(first + b)) continue;
        undefined.of_byte[b] |= bit(lane);
        origin_ = bytes.origin(first + b);
      }
    }
    for (std::size_t b = i_.width; b < operand.bytes && i_.extends_sign; ++b) undefined.of_byte[b] = undefined.of_byte[i_.width - 1u];
    return undefined;
  }

  void take_address() {
    address_ = addresses_of(warp_, i_, i_.slot[0], i_.immediate);
    in_shared_ = i_.space == Space::generic ? split_generic(mask_, *address_, Space::shared) : mask_;
  }

  Warp& warp_;
  const Instruction& i_;
  const ValueFlow& flow_;
  std::span<const FlowOperand> operands_;
  Mask all_, mask_;
  Origin origin_, guard_origin_;  // of undefined bytes in the results
  std::optional<Lanes<u64>> address_;
  Mask in_shared_ = 0;
};

}  // namespace

bool has_undefined_values(const Warp& warp) { return warp.undefined.any() || warp.block->undefined.any(); }

void follow_values(Warp& warp, const Instruction& i, Mask all, Mask mask) { Step(warp, i, all, mask).follow(); }

void follow_store(Warp& warp, const Instruction& i, Mask mask) {
  if (i.category != Category::store_shared && i.category != Category::store_generic) return;
  const ValueFlow& flow = warp.kernel->flows[i.index];
  for (const FlowOperand& operand : std::span(warp.kernel->flow_operands).subspan(flow.first, flow.count)) {
    if (operand.field < kExtraField) continue;
    const UndefinedLanes undefined = warp.undefined.by_byte(operand.slot, operand.bytes);
    const Mask some = undefined.any() & mask;
    if (some == 0) continue;
    Lanes<u64> address = addresses_of(warp, i, i.slot[0], i.immediate);
    const Mask lanes = i.space == Space::generic ? split_generic(some, address, Space::shared) : some;
    const u64 offset = u64{operand.field - kExtraField - i.first} * i.width;
    for (const int lane : lanes_of(lanes))
      for (u64 b = 0; b < i.width && address[lane] + offset + i.width <= warp.block->shared_bytes; ++b)
        if (has_lane(undefined.of_byte[b], lane))
          warp.block->undefined.add(address[lane] + offset + b, warp.undefined.origin(operand.slot));
  }
}

void follow_shuffle(Warp& warp, const Instruction& i, Mask mask, const s32* from, Mask absent) {
  if (i.slot[0] < 0) return;
  constexpr int kBytes = 4;
  const UndefinedLanes source = warp.undefined.by_byte(i.slot[2], kBytes);
  const Origin source_origin = warp.undefined.origin(i.slot[2]);
  UndefinedLanes undefined;
  for (std::size_t b = 0; b < kBytes; ++b) {
    undefined.of_byte[b] = absent;
    for (int lane = 0; lane < kLanes; ++lane)
      if (has_lane(source.of_byte[b], from[lane] & 31)) undefined.of_byte[b] |= bit(lane);
  }
  warp.undefined.write(i.slot[0], kBytes, mask, undefined, (absent & mask) != 0 ? Origin{i.index, false} : source_origin);
  if (i.slot[1] >= 0) warp.undefined.write(i.slot[1], 0, mask, Mask{0}, {});
}

}  // namespace tilewright::rt::emulator
