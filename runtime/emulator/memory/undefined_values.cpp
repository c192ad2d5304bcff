// Follows undefined values from register to register and through shared memory.
#include "runtime/emulator/memory/undefined_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "runtime/emulator/memory/access.h"
#include "runtime/emulator/state/register_file.h"

namespace tilewright::rt::emulator {

void UndefinedRegisters::write(s32 slot, Mask written, Mask undefined, Origin origin) {
  const std::size_t at = place(slot);
  if (at >= lanes_.size()) {
    if (undefined == 0) return;
    lanes_.resize(at + 1);
    origins_.resize(at + 1);
  }
  const Mask before = lanes_[at], after = (before & ~written) | (undefined & written);
  count_ += static_cast<u32>(before == 0 && after != 0);
  count_ -= static_cast<u32>(before != 0 && after == 0);
  lanes_[at] = after;
  if ((undefined & written) != 0) origins_[at] = origin;
}

void UndefinedRegisters::clear() {
  if (any()) std::fill(lanes_.begin(), lanes_.end(), 0);
  count_ = 0;
}

bool UndefinedBytes::has(u64 offset, int bytes) const {
  const u64 end = std::min<u64>(offset + static_cast<u64>(bytes), at_.size());
  for (; offset < end; ++offset)
    if (at_[offset].is_undefined) return true;
  return false;
}

void UndefinedBytes::add(u64 offset, int bytes, Origin origin) {
  const u64 end = offset + static_cast<u64>(bytes);
  if (at_.size() < end) at_.resize(end);
  for (; offset < end; ++offset) {
    count_ += at_[offset].is_undefined ? 0 : 1;
    at_[offset] = {true, origin};
  }
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
                     place_of(warp, origin.index));
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
    const Mask unsure = follow_guard();
    report_uses();
    if (flow_.rule == FlowRule::shuffle) return;
    const Mask undefined = flow_.rule == FlowRule::load ? 0 : result();
    for (const FlowOperand& operand : operands_) {
      if (!operand.is_write) continue;
      const Mask lanes = flow_.rule == FlowRule::load ? loaded(operand) : undefined;
      warp_.undefined.write(operand.slot, mask_, lanes, origin_);
      if (unsure != 0) warp_.undefined.write(operand.slot, unsure, unsure, guard_origin_);
    }
  }

 private:
  Mask undefined_lanes(const FlowOperand& operand) const { return warp_.undefined.lanes(operand.slot); }

  static bool is_value(const FlowOperand& operand) {
    return !operand.is_write && !operand.is_address && operand.field != kGuardField && operand.field != kMembersField;
  }

  /// A use is reported once: the value counts as defined from then on.
  void report_use(const FlowOperand& operand, Mask lanes, const char* what) {
    if (lanes == 0) return;
    const Origin origin = warp_.undefined.origin(operand.slot);
    report(warp_, i_, DiagnosticKind::undefined_value, __builtin_ctz(lanes),
           [&] { return fmt::format("{} depends on {}", what, describe(warp_, origin)); });
    warp_.undefined.write(operand.slot, lanes, 0, {});
  }

  /// The lanes that may or may not write results.
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

  /// The lanes whose value leaves the block or is read back by an atomic operation.
  Mask visible_lanes() const {
    if (!flow_.stores || i_.category == Category::store_shared) return 0;
    if (i_.category != Category::store_generic) return mask_;
    Lanes<u64> address = addresses_of(warp_, i_, i_.slot[0], i_.immediate);
    return split_generic(mask_, address, Space::global);
  }

  void report_uses() {
    for (const FlowOperand& operand : operands_)
      if (operand.is_address) report_use(operand, undefined_lanes(operand) & mask_, "the address");
    const Mask visible = visible_lanes();
    for (const FlowOperand& operand : operands_) {
      if (!is_value(operand)) continue;
      if (i_.kind == Kind::indexed) report_use(operand, undefined_lanes(operand) & mask_, "the branch");
      report_use(operand, undefined_lanes(operand) & visible, "the value");
    }
  }

  /// The lanes whose register has no bit set, or all of them.
  Mask lanes_that_are(const FlowOperand& operand, bool all_bits) const {
    if (operand.bytes == 0) {
      const bool negated = (i_.negated >> operand.field) & 1;
      return read_mask(warp_, operand.slot) ^ (all_bits == negated ? kAllLanes : 0);
    }
    return lanes_that_are(operand.slot, operand.bytes, all_bits);
  }
  Mask lanes_that_are(s32 slot, int bytes, bool all_bits) const {
    Mask lanes = 0;
    const std::byte wanted{static_cast<unsigned char>(all_bits ? 0xff : 0)};
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::byte* const at = warp_.registers + slot + lane * bytes;
      if (std::all_of(at, at + bytes, [&](std::byte b) { return b == wanted; })) lanes |= bit(lane);
    }
    return lanes;
  }

  /// The lanes where the source in this field is defined and has no bit set, or all of them: it may be a constant.
  Mask decides(int field, int bytes, bool all_bits) const {
    for (const FlowOperand& operand : operands_)
      if (operand.field == static_cast<u32>(field) && !operand.is_write)
        return lanes_that_are(operand, all_bits) & ~undefined_lanes(operand);
    return bytes == 0 ? 0 : lanes_that_are(i_.slot[static_cast<std::size_t>(field)], bytes, all_bits);
  }

  Mask result() {
    Mask some = 0, every = kAllLanes;
    int sources = 0;
    for (const FlowOperand& operand : operands_) {
      if (!is_value(operand)) continue;
      const Mask lanes = undefined_lanes(operand);
      some |= lanes;
      every &= lanes;
      ++sources;
      if ((lanes & mask_) != 0) origin_ = warp_.undefined.origin(operand.slot);
    }
    if ((some & mask_) == 0) return 0;
    switch (flow_.rule) {
      case FlowRule::all: return sources == 0 ? 0 : every;
      case FlowRule::group: return kAllLanes;
      case FlowRule::choice: return chosen();
      case FlowRule::conjunction:
      case FlowRule::disjunction: {
        const bool all_bits = flow_.rule == FlowRule::disjunction;
        const int bytes = std::ranges::find(operands_, true, &FlowOperand::is_write)->bytes;
        return some & ~decides(1, bytes, all_bits) & ~decides(2, bytes, all_bits);
      }
      case FlowRule::any: return some;
      default: return 0;
    }
  }

  Mask chosen() const {
    std::array<Mask, 4> undefined{};
    for (const FlowOperand& operand : operands_)
      if (is_value(operand)) undefined[operand.field] = undefined_lanes(operand);
    const Mask first = read_predicate(warp_, i_, 3);
    return undefined[3] | (undefined[1] & first) | (undefined[2] & ~first);
  }

  /// The lanes that load undefined bytes into this register.
  Mask loaded(const FlowOperand& operand) {
    const UndefinedBytes& bytes = warp_.block->undefined;
    if (!bytes.any() || operand.field < kExtraField) return 0;
    if (!address_) take_address();
    const u64 offset = u64{operand.field - kExtraField - i_.first} * i_.width;
    Mask lanes = 0;
    for (const int lane : lanes_of(in_shared_))
      if (bytes.has((*address_)[lane] + offset, i_.width)) {
        lanes |= bit(lane);
        u64 at = (*address_)[lane] + offset;
        while (!bytes.has(at, 1)) ++at;
        origin_ = bytes.origin(at);
      }
    return lanes;
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
  Origin origin_, guard_origin_;  // of what is undefined in the results
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
    const Mask undefined = warp.undefined.lanes(operand.slot) & mask;
    if (undefined == 0) continue;
    Lanes<u64> address = addresses_of(warp, i, i.slot[0], i.immediate);
    const Mask lanes = i.space == Space::generic ? split_generic(undefined, address, Space::shared) : undefined;
    const u64 offset = u64{operand.field - kExtraField - i.first} * i.width;
    for (const int lane : lanes_of(lanes))
      if (address[lane] + offset + i.width <= warp.block->shared_bytes)
        warp.block->undefined.add(address[lane] + offset, i.width, warp.undefined.origin(operand.slot));
  }
}

void follow_shuffle(Warp& warp, const Instruction& i, Mask mask, const s32* from, Mask absent) {
  if (i.slot[0] < 0) return;
  const Mask source = warp.undefined.lanes(i.slot[2]);
  const Origin source_origin = warp.undefined.origin(i.slot[2]);
  Mask undefined = absent;
  for (int lane = 0; lane < kLanes; ++lane)
    if (has_lane(source, from[lane] & 31)) undefined |= bit(lane);
  warp.undefined.write(i.slot[0], mask, undefined, (absent & mask) != 0 ? Origin{i.index, false} : source_origin);
  if (i.slot[1] >= 0) warp.undefined.write(i.slot[1], mask, 0, {});
}

}  // namespace tilewright::rt::emulator
