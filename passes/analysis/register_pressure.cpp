// Computes live tiles by one backward walk, block by block.
#include "passes/analysis/register_pressure.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tileir/op_kind.h"
#include "tileir/slices.h"

namespace tilewright::passes {

namespace {

/// Registers for the addresses of loops, the thread index, and temporaries of an instruction.
constexpr int kOther = 16;

/// Whether each value is computed from thread indices and scalars only.
std::vector<bool> index_values(const Function& f) {
  std::vector<bool> is_index(f.value_capacity());
  f.walk([&](OpId id) {
    const OpKind k = f.kind(id);
    const ir::OpInfo& info = ir::info(k);
    const bool keeps_index = info.has(ir::kElementwise) || info.family == ir::Family::shape || info.family == ir::Family::hint;
    const auto& operands = f.op(id).operands;
    const bool is_computed = keeps_index && !operands.empty() && std::all_of(operands.begin(), operands.end(), [&](ValueId v) {
                               return f.type(v).is_scalar() || is_index[v.index];
                             });
    if (f.op(id).results.size() == 1) is_index[f.result(id).index] = k == OpKind::arange_ || k == OpKind::constant_ || is_computed;
  });
  return is_index;
}

/// Finds the op at which the live tiles are largest in sum. `size`: int(ValueId), 0 for scalars.
template <class Size>
class LiveTiles {
 public:
  LiveTiles(const Function& f, Size size) : f_(f), size_(size), live_(f.value_capacity()) { block(f.body()); }

  std::int64_t most() const { return most_; }
  OpId at() const { return at_; }
  ValueId largest() const { return largest_; }

 private:
  void begin_live(ValueId v) {
    if (live_[v.index] || f_.type(v).is_scalar()) return;
    live_[v.index] = true;
    now_ += size_(v);
    live_list_.push_back(v);
  }

  void end_live(ValueId v) {
    if (!live_[v.index]) return;
    live_[v.index] = false;
    now_ -= size_(v);
    live_list_.erase(std::find(live_list_.begin(), live_list_.end(), v));
  }

  void update_most(OpId at) {
    if (now_ <= most_) return;
    most_ = now_;
    at_ = at;
    largest_ = {};
    std::int64_t largest = 0;
    for (ValueId v : live_list_)
      if (size_(v) > largest) largest_ = v, largest = size_(v);
  }

  void block(BlockId b) {
    for (OpId id = f_.block(b).last; id; id = f_.op(id).prev) {
      const ir::OpData& op = f_.op(id);
      for (ValueId v : op.results) begin_live(v);
      update_most(id);
      if (!ir::combines(op.kind) && !op.regions.empty()) {
        // Values that a loop uses from outside are live in all of it.
        for (BlockId r : op.regions)
          for (ValueId v : used_from_above(f_, r)) begin_live(v);
        for (BlockId r : op.regions) {
          block(r);
          for (ValueId v : f_.block(r).args) end_live(v);
        }
      }
      for (ValueId v : op.results) end_live(v);
      for (ValueId v : op.operands) begin_live(v);
      update_most(id);
    }
  }

  const Function& f_;
  Size size_;
  std::vector<bool> live_;  // indexed by value
  std::vector<ValueId> live_list_;
  std::int64_t now_ = 0, most_ = 0;
  OpId at_;
  ValueId largest_;
};

/// The registers that a thread needs for a tile of a distributed function.
int registers_of(const Function& f, ValueId v, bool is_index) {
  const ir::Type t = f.type(v);
  const int each = (t.element_bits() + 31) / 32;
  if (t.is_scalar()) return 0;  // scalars need few registers, or uniform ones
  const OpId id = f.value(v).op;
  if (f.constant_bits(v)) return 0;
  if (id && f.kind(id) == OpKind::broadcast_ && f.type(f.operand(id, 0)).is_scalar()) return each;
  const ir::LinearLayout& l = f.layout(v);
  const int held = 1 << (l.bits(ir::HardwareDim::reg) - std::popcount(l.free_bits(ir::HardwareDim::reg)));
  if (t.is_bool()) return std::max(held / 32, 1);
  const int small = t.element_bits() < 32 ? std::max(held * t.element_bits() / 32, 1) : held * each;
  return is_index ? std::max(small / 4, 1) : small;
}

std::int64_t data_words(const Function& f, ValueId v, const std::vector<bool>& is_index) {
  const ir::Type t = f.type(v);
  if (t.is_scalar() || t.is_bool() || is_index[v.index]) return 0;
  if (const OpId id = f.value(v).op; id && (f.kind(id) == OpKind::broadcast_ || f.kind(id) == OpKind::reshape_))
    return data_words(f, f.operand(id, 0), is_index);
  return (t.elements() * t.element_bits() + 31) / 32;
}

}  // namespace

RegisterPressure register_pressure(const Function& f) {
  const std::vector<bool> is_index = index_values(f);
  const auto size = [&](ValueId v) { return registers_of(f, v, is_index[v.index]); };
  const LiveTiles live(f, size);
  return {static_cast<int>(live.most()) + kOther, live.at(), live.largest(), live.largest() ? size(live.largest()) : 0};
}

std::int64_t live_data_words(const Function& f) {
  const std::vector<bool> is_index = index_values(f);
  return LiveTiles(f, [&](ValueId v) { return data_words(f, v, is_index); }).most();
}

int blocks_per_sm(const Function& f, const ir::TargetDesc& target, int num_warps, std::int64_t shared_bytes) {
  // CUDA C++ Programming Guide, "Compute Capabilities": registers are allocated to warps in units of 8 for each thread; the system takes 1
  // KiB of shared memory for each program.
  constexpr std::int64_t kSystemBytes = 1024;
  const int estimate = register_pressure(f).registers,
            available = std::min(target.max_registers, target.registers_per_sm / (32 * num_warps));
  if (2 * estimate <= available) return 0;
  const int wanted = std::min((2 * estimate + 7) / 8 * 8, target.max_registers + 1);
  const std::int64_t by_registers = target.registers_per_sm / (32 * num_warps * wanted);
  const std::int64_t by_warps = target.warps_per_sm / num_warps;
  const std::int64_t by_shared = (target.shared_bytes + kSystemBytes) / (shared_bytes + kSystemBytes);
  const std::int64_t most = target.warps_per_sm >= 64 ? 32 : 16;
  return static_cast<int>(std::max<std::int64_t>(1, std::min({by_registers, by_warps, by_shared, most})));
}

std::string too_large(const Function& f, const ir::TargetDesc& target, int num_warps) {
  const RegisterPressure p = register_pressure(f);
  const int available = std::min(target.max_registers, target.registers_per_sm / (32 * num_warps));
  if (p.registers <= 2 * available || !p.largest) return {};  // ptxas may need fewer than the estimate
  int fits = num_warps;
  for (int share = p.registers; fits < 32 && share > std::min(target.max_registers, target.registers_per_sm / (32 * fits));
       share = (share - kOther) / 2 + kOther)
    fits *= 2;
  std::string message = fmt::format("a thread would hold about {} registers at once, {} of them for {}; it has {}", p.registers,
                                    p.largest_registers, ir::text(f.type(p.largest)), available);
  if (const Location at = f.where(p.largest); at.line != 0) message.insert(0, fmt::format("{}:{}: ", at.file, at.line));
  return message + (fits > num_warps ? fmt::format("; with {} warps it would hold fewer", fits) : "; smaller tiles would hold fewer");
}

}  // namespace tilewright::passes
