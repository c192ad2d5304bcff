// Scans, in the order of tileir/layout/scan_order.h.
//
//  1. scan_group: the running combinations of a run of registers, then the totals of lanes by shuffles (find_lanes).
//  2. scan_warps: the totals of warps through shared memory, and the combination of all warps before this one.
//  3. finish_group: each register is combined with the prefix of its lane, its warp and the groups before.
#include "backend/nvptx/scan.h"

#include <algorithm>
#include <bit>

#include "backend/nvptx/shared_tile.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::nvptx {

namespace {

/// Emits one scan. Positions along the axis are counted in scan direction: from the far end if it is reversed.
class Scanner {
  using Tuple = std::vector<Value*>;  // one element of each operand
  /// The combination of all elements before a group, lane or warp; valid where `exists` holds (null: everywhere).
  struct Prefix {
    Tuple value;  // empty: there are no such elements
    Value* exists = nullptr;
  };

 public:
  Scanner(Emitter& e, OpId id)
      : e_(e),
        b_(e.b()),
        id_(id),
        reverse_(e.f().attr(id, ir::AttrName::reverse) != 0),
        layout_(e.layout(e.f().operand(id, 0)).without_free_registers()),
        plan_(e.plans().scan(id)),
        order_(plan_.order) {
    for (ValueId x : e.f().op(id).operands) {
      values_.push_back(select_registers(e.registers(x), e.layout(x), layout_));
      types_.push_back(e.f().type(x).scalar());
    }
    for (int bit : order_.lanes) lanes_ |= 1u << bit;
  }

  void run() {
    groups_.resize(std::size_t{1} << (order_.high_registers.size() + plan_.across.size()));
    if (lanes_ != 0) find_lanes();
    for (std::uint32_t g = 0; g < groups_.size(); ++g) scan_group(g);
    if (!order_.warps.empty()) scan_warps();
    const std::uint32_t chunks = 1u << order_.high_registers.size();
    for (std::uint32_t row = 0; row < 1u << plan_.across.size(); ++row) {
      Tuple carried;
      for (std::uint32_t i = 0; i < chunks; ++i) {
        const std::uint32_t g = row << order_.high_registers.size() | in_order(i, chunks);
        finish_group(g, carried);
        if (i + 1 < chunks) carried = carried.empty() ? all_of(g) : e_.combine(id_, carried, all_of(g));
      }
    }
    for (std::size_t j = 0; j < values_.size(); ++j) {
      const ValueId y = e_.f().result(id_, static_cast<int>(j));
      e_.set(y, select_registers(values_[j], layout_, e_.layout(y)));
    }
  }

 private:
  /// A run of registers that are consecutive along the axis.
  struct Group {
    Tuple total;         // the combination of this lane and all lanes before it
    Tuple lane_before;   // the total of the previous lane
    Tuple warps_before;  // the total of all previous warps
    Tuple all;           // the total of all warps
  };

  std::uint32_t in_order(std::uint32_t i, std::uint32_t count) const { return reverse_ ? count - 1 - i : i; }

  std::uint32_t register_of(std::uint32_t group, std::uint32_t in_run) const {
    std::uint32_t r = 0;
    const auto put = [&](std::uint32_t number, const std::vector<int>& bits) {
      for (std::size_t i = 0; i < bits.size(); ++i) r |= (number >> i & 1) << bits[i];
    };
    put(in_run, order_.low_registers);
    put(group, order_.high_registers);
    put(group >> order_.high_registers.size(), plan_.across);
    return r;
  }
  Tuple held(std::uint32_t r) const {
    Tuple out;
    for (const Registers& v : values_) out.push_back(v[r]);
    return out;
  }
  void hold(std::uint32_t r, const Tuple& v) {
    for (std::size_t j = 0; j < v.size(); ++j) values_[j][r] = v[j];
  }
  Tuple select(Value* condition, const Tuple& a, const Tuple& b) {
    Tuple out;
    for (std::size_t j = 0; j < a.size(); ++j) out.push_back(b_.CreateSelect(condition, a[j], b[j]));
    return out;
  }
  Tuple from_lane(const Tuple& v, Value* lane) {
    Tuple out;
    for (Value* x : v) out.push_back(e_.shuffle(Shuffle::idx, x, lane));
    return out;
  }

  /// Finds the source lanes of shuffles. A reversed scan counts the lane bits along the axis from the other end.
  void find_lanes() {
    const std::uint32_t inverted = reverse_ ? lanes_ : 0;
    Value* lane = e_.lane();
    Value* position = b_.CreateXor(lane, e_.i32(inverted));
    std::uint32_t below = 0;
    for (int bit : order_.lanes) {
      Value* last_of_half = b_.CreateAnd(b_.CreateOr(position, e_.i32(below)), e_.i32(~(1u << bit)));
      sources_.push_back(b_.CreateXor(last_of_half, e_.i32(inverted)));
      takes_.push_back(b_.CreateICmpNE(b_.CreateAnd(position, e_.i32(1u << bit)), e_.i32(0)));
      below |= 1u << bit;
    }
    Value* along = b_.CreateAnd(position, e_.i32(lanes_));
    Value* across = b_.CreateAnd(lane, e_.i32(31u & ~lanes_));
    // Within the bits of a mask, the predecessor of x is (x - 1) & mask.
    Value* before = b_.CreateAnd(b_.CreateSub(along, e_.i32(1)), e_.i32(lanes_));
    lane_before_ = b_.CreateOr(across, b_.CreateXor(before, e_.i32(inverted)));
    last_lane_ = b_.CreateOr(across, e_.i32(lanes_ ^ inverted));
    has_lane_before_ = b_.CreateICmpNE(along, e_.i32(0));
  }

  void scan_group(std::uint32_t g) {
    const std::uint32_t run = 1u << order_.low_registers.size();
    Tuple sum;
    for (std::uint32_t i = 0; i < run; ++i) {
      const std::uint32_t r = register_of(g, in_order(i, run));
      sum = i == 0 ? held(r) : e_.combine(id_, sum, held(r));
      hold(r, sum);
    }
    for (std::size_t i = 0; i < sources_.size(); ++i) sum = select(takes_[i], e_.combine(id_, from_lane(sum, sources_[i]), sum), sum);
    if (lanes_ != 0) groups_[g].lane_before = from_lane(sum, lane_before_);
    groups_[g].total = std::move(sum);
  }

  void scan_warps() {
    const LinearLayout &totals = plan_.totals, &wanted = plan_.wanted;
    // The last lane along the axis holds the total; if there are copies, only one of them stores it.
    const std::uint32_t free = totals.free_bits(HardwareDim::lane) | totals.free_bits(HardwareDim::warp) << ir::TargetDesc::kLog2WarpLanes;
    Value* stores = free == 0 ? nullptr : b_.CreateICmpEQ(b_.CreateAnd(e_.thread(), e_.i32(free)), e_.i32(reverse_ ? 0 : lanes_));
    std::vector<ir::SharedPlan> swizzles;
    std::int64_t at = e_.scratch_offset(id_);
    for (std::size_t j = 0; j < values_.size(); ++j) {
      swizzles.push_back(ir::plan_swizzle(totals, wanted, types_[j].element_bytes()));
      Registers own;
      for (const Group& g : groups_) own.push_back(g.total[j]);
      store_tile_to_shared(e_, types_[j], own, totals, swizzles[j], at, stores);
      at += passes::total_bytes(plan_, types_[j]);
    }
    e_.barrier();
    std::vector<Registers> read;
    at = e_.scratch_offset(id_);
    for (std::size_t j = 0; j < values_.size(); ++j) {
      read.push_back(load_tile_from_shared(e_, types_[j], wanted, swizzles[j], at));
      at += passes::total_bytes(plan_, types_[j]);
    }
    const std::uint32_t warps = 1u << order_.warps.size();
    ir::F2Matrix warp_index;
    for (int i = 0; i < ir::TargetDesc::kLog2WarpLanes; ++i) warp_index.columns.push_back(0);
    for (const std::uint32_t basis : totals.bases(HardwareDim::warp)) warp_index.columns.push_back(basis & (warps - 1));
    Value* warp = e_.apply(warp_index, e_.thread());
    if (reverse_) warp = b_.CreateXor(warp, e_.i32(warps - 1));
    has_warp_before_ = b_.CreateICmpNE(warp, e_.i32(0));
    std::vector<Value*> is_after;
    for (std::uint32_t k = 1; k + 1 < warps; ++k) is_after.push_back(b_.CreateICmpUGT(warp, e_.i32(k)));
    for (std::uint32_t g = 0; g < groups_.size(); ++g) {
      const auto total = [&](std::uint32_t k) {
        Tuple out;
        for (const Registers& v : read) out.push_back(v[g << order_.warps.size() | in_order(k, warps)]);
        return out;
      };
      Tuple sum = total(0);
      groups_[g].warps_before = sum;
      for (std::uint32_t k = 1; k + 1 < warps; ++k) {
        sum = e_.combine(id_, sum, total(k));
        groups_[g].warps_before = select(is_after[k - 1], sum, groups_[g].warps_before);
      }
      if (!order_.high_registers.empty()) groups_[g].all = e_.combine(id_, sum, total(warps - 1));
    }
  }

  Tuple all_of(std::uint32_t g) {
    if (!order_.warps.empty()) return groups_[g].all;
    return lanes_ != 0 ? from_lane(groups_[g].total, last_lane_) : groups_[g].total;
  }

  /// The combination of a prefix and `later`, in this order.
  Tuple after(const Prefix& prefix, Tuple later) {
    if (prefix.value.empty()) return later;
    const Tuple both = e_.combine(id_, prefix.value, later);
    return prefix.exists ? select(prefix.exists, both, later) : both;
  }
  /// The prefix extended by `more`, where `exists` holds.
  Prefix longer(const Prefix& prefix, const Tuple& more, Value* exists) {
    if (prefix.value.empty()) return {more, exists};
    return {select(exists, after(prefix, more), prefix.value), prefix.exists ? b_.CreateOr(prefix.exists, exists) : nullptr};
  }

  void finish_group(std::uint32_t g, const Tuple& carried) {
    Prefix prefix{carried, nullptr};
    if (!order_.warps.empty()) prefix = longer(prefix, groups_[g].warps_before, has_warp_before_);
    if (lanes_ != 0) prefix = longer(prefix, groups_[g].lane_before, has_lane_before_);
    for (std::uint32_t i = 0; i < 1u << order_.low_registers.size(); ++i) {
      const std::uint32_t r = register_of(g, i);
      hold(r, after(prefix, held(r)));
    }
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const OpId id_;
  const bool reverse_;
  const LinearLayout layout_;
  const passes::ScanPlan& plan_;
  const ir::AxisOrder& order_;
  std::vector<Registers> values_;  // indexed by operand
  std::vector<Type> types_;
  std::uint32_t lanes_ = 0;  // lane bits along the axis
  std::vector<Group> groups_;
  std::vector<Value*> sources_, takes_;  // indexed by round: the lane whose total is combined, and whether it is combined
  Value *lane_before_ = nullptr, *last_lane_ = nullptr, *has_lane_before_ = nullptr, *has_warp_before_ = nullptr;
};

}  // namespace

void emit_scan(Emitter& e, OpId id) { Scanner(e, id).run(); }

}  // namespace tilewright::backend::nvptx
