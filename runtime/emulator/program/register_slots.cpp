// Computes the liveness of registers and their slots in the register file.
#include <algorithm>
#include <numeric>
#include <set>

#include "runtime/emulator/program/control_flow.h"

namespace tilewright::rt::emulator {
namespace {

class Bits {
 public:
  explicit Bits(std::size_t count) : words_((count + 63) / 64, 0) {}
  void set(u32 i) { words_[i / 64] |= u64{1} << (i % 64); }
  bool has(u32 i) const { return (words_[i / 64] >> (i % 64)) & 1; }
  /// this |= other & ~except. Returns whether any bit is new.
  bool add(const Bits& other, const Bits* except = nullptr) {
    bool changed = false;
    for (std::size_t w = 0; w < words_.size(); ++w) {
      const u64 merged = words_[w] | (except == nullptr ? other.words_[w] : other.words_[w] & ~except->words_[w]);
      changed |= merged != words_[w];
      words_[w] = merged;
    }
    return changed;
  }
  template <class F>
  void each(F f) const {
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (u64 rest = words_[w]; rest != 0; rest &= rest - 1) f(static_cast<u32>(w * 64 + static_cast<std::size_t>(__builtin_ctzll(rest))));
  }

 private:
  std::vector<u64> words_;
};

/// The first and the last position at which a value may be needed, in the order of the code.
struct Interval {
  u32 value;
  u32 begin = ~0u, end = 0;
  void cover(u32 from, u32 to) {
    begin = std::min(begin, from);
    end = std::max(end, to);
  }
};

// Every write is masked, so a lane's slots only hold values of its own thread: the liveness in one thread is sufficient, however the warp
// diverges.
class Liveness {
 public:
  Liveness(const FlowGraph& graph, std::size_t values, std::span<const OperandUse> uses, const Kernel& kernel)
      : graph_(graph), values_(values), live_in_(graph.nodes.size() + 1, Bits(values)) {
    by_instruction_.resize(kernel.code.size());
    for (const OperandUse& use : uses) by_instruction_[use.instruction].push_back(use);
    solve();
    cover();
  }

  const Bits& live_at_entry() const { return live_in_[0]; }
  const std::vector<Interval>& intervals() const { return intervals_; }

 private:
  void solve() {
    const std::size_t count = graph_.nodes.size();
    std::vector<Bits> written(count, Bits(values_));
    for (std::size_t n = 0; n < count; ++n)
      for (u32 i = graph_.nodes[n].begin; i < graph_.nodes[n].end; ++i) {
        // Reads come before writes, since an instruction may read what it writes. A guarded write may leave the old value in place.
        for (const OperandUse& use : by_instruction_[i])
          if (!use.is_write && !written[n].has(use.value)) live_in_[n].set(use.value);
        if (is_guarded(i)) continue;
        for (const OperandUse& use : by_instruction_[i])
          if (use.is_write) written[n].set(use.value);
      }
    live_out_.assign(count, Bits(values_));
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t n = count; n-- > 0;) {
        for (u32 successor : graph_.nodes[n].successors) live_out_[n].add(live_in_[successor]);
        changed |= live_in_[n].add(live_out_[n], &written[n]);
      }
    }
  }

  bool is_guarded(u32 instruction) const {
    const auto& uses = by_instruction_[instruction];
    return std::any_of(uses.begin(), uses.end(), [](const OperandUse& use) { return use.field == kGuardField; });
  }

  void cover() {
    intervals_.resize(values_);
    for (u32 v = 0; v < values_; ++v) intervals_[v].value = v;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const auto& node = graph_.nodes[n];
      live_in_[n].each([&](u32 value) { intervals_[value].cover(node.begin, node.begin); });
      live_out_[n].each([&](u32 value) { intervals_[value].cover(node.end - 1, node.end - 1); });
      // A value that is live at both ends of a block is live in all of it.
      for (u32 i = node.begin; i < node.end; ++i)
        for (const OperandUse& use : by_instruction_[i]) intervals_[use.value].cover(i, i);
    }
  }

  const FlowGraph& graph_;
  std::size_t values_;
  std::vector<std::vector<OperandUse>> by_instruction_;
  std::vector<Bits> live_in_, live_out_;
  std::vector<Interval> intervals_;
};

u32 file_bytes(const Value& value) { return value.is_predicate ? 4 : u32{value.bytes} * kLanes; }

}  // namespace

s32& slot_of(Kernel& kernel, const OperandUse& use) {
  Instruction& instruction = kernel.code[use.instruction];
  if (use.field < kSlots) return instruction.slot[use.field];
  if (use.field == kGuardField) return instruction.guard;
  if (use.field == kMembersField) return instruction.members;
  return kernel.extra[use.field - kExtraField];
}

void assign_slots(const FlowGraph& graph, std::span<const Register> registers, std::span<const Value> values,
                  std::span<const OperandUse> uses, Kernel& kernel, Callee* callee) {
  std::vector<s32> slots(values.size(), kNoSlot);
  u32 next = kernel.register_bytes;  // the caller's slots are still needed while a function runs
  const auto take_new = [&](const Value& value) {
    const u32 slot = next;
    next += (file_bytes(value) + 63) / 64 * 64;
    return static_cast<s32>(slot);
  };
  for (u32 v = 0; v < values.size(); ++v) {
    if (values[v].kind == Value::reg) continue;
    slots[v] = take_new(values[v]);
    if (values[v].kind == Value::frame)
      callee->addresses.push_back({slots[v], values[v].bytes, values[v].bits});
    else if (values[v].kind == Value::constant)
      kernel.constants.push_back({slots[v], values[v].is_predicate ? u8{0} : values[v].bytes, values[v].bits});
    else
      kernel.specials.push_back({slots[v], values[v].which});
  }

  const Liveness liveness(graph, values.size(), uses, kernel);
  std::vector<Interval> order;
  for (const Interval& interval : liveness.intervals())
    if (values[interval.value].kind == Value::reg && interval.begin != ~0u) order.push_back(interval);
  std::sort(order.begin(), order.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  // A source and a destination of one instruction never share a slot: handlers may write one lane before they read another.
  std::vector<Interval> active;
  std::map<u32, std::vector<s32>> free;  // indexed by size in bytes
  for (const Interval& interval : order) {
    std::erase_if(active, [&](const Interval& other) {
      if (other.end >= interval.begin) return false;
      free[file_bytes(values[other.value])].push_back(slots[other.value]);
      return true;
    });
    auto& candidates = free[file_bytes(values[interval.value])];
    if (candidates.empty()) {
      slots[interval.value] = take_new(values[interval.value]);
    } else {
      slots[interval.value] = candidates.back();
      candidates.pop_back();
    }
    active.push_back(interval);
  }
  kernel.register_bytes = next;
  if (callee != nullptr) {
    std::set<s32> seen;
    callee->registers = callee->addresses;
    for (const Interval& interval : order)
      if (const Value& value = values[interval.value]; seen.insert(slots[interval.value]).second)
        callee->registers.push_back({slots[interval.value], value.is_predicate ? u8{0} : value.bytes, 0});
  }
  liveness.live_at_entry().each([&](u32 v) {
    const Value& value = values[v];
    const u8 bytes = value.is_predicate ? u8{0} : value.bytes;
    if (value.kind == Value::reg) kernel.unwritten.push_back({slots[v], file_bytes(value), bytes, registers[v].name()});
  });

  for (const OperandUse& use : uses) slot_of(kernel, use) = slots[use.value];
}

}  // namespace tilewright::rt::emulator
