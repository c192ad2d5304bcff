// Scans: runs in registers, between lanes by shuffles, between warps through shared memory, in the order of tileir/layout/scan_order.h.
#include <algorithm>
#include <bit>

#include "backend/nvptx/lowering.h"
#include "passes/plans/scan_plan.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::nvptx {

/// One scan while it is emitted. Places along the axis are counted as the scan goes: from the far end if it is reversed.
class Scanner {
  using Tuple = std::vector<Value*>;  // an element of each operand
  /// What stands before something, where `exists` holds (null: everywhere).
  struct Before {
    Tuple value;  // empty: nothing does
    Value* exists = nullptr;
  };

 public:
  Scanner(NvptxLowering& l, OpId id)
      : l_(l), b_(l.b_), id_(id), reverse_(l.f_.attr(id, ir::AttrName::reverse) != 0),
        layout_(l.layout(l.f_.operand(id, 0)).without_free_registers()),
        plan_(passes::plan_scan(layout_, static_cast<int>(l.f_.attr(id, ir::AttrName::axis)))), places_(plan_.places) {
    for (ValueId x : l.f_.op(id).operands) {
      Registers& v = values_.emplace_back();
      for (std::uint32_t r : NvptxLowering::match_registers(l.layout(x), layout_, same)) v.push_back(l.registers(x)[r]);
      types_.push_back(l.f_.type(x).scalar());
    }
    for (int bit : places_.lanes) lanes_ |= 1u << bit;
  }

  void run() {
    groups_.resize(std::size_t{1} << (places_.high_registers.size() + plan_.across.size()));
    if (lanes_ != 0) find_lanes();
    for (std::uint32_t g = 0; g < groups_.size(); ++g) scan_group(g);
    if (!places_.warps.empty()) scan_warps();
    const std::uint32_t chunks = 1u << places_.high_registers.size();
    for (std::uint32_t row = 0; row < 1u << plan_.across.size(); ++row) {
      Tuple carried;
      for (std::uint32_t i = 0; i < chunks; ++i) {
        const std::uint32_t g = row << places_.high_registers.size() | in_order(i, chunks);
        finish_group(g, carried);
        if (i + 1 < chunks) carried = carried.empty() ? all_of(g) : l_.combine(id_, carried, all_of(g));
      }
    }
    for (std::size_t j = 0; j < values_.size(); ++j) {
      const ValueId y = l_.f_.result(id_, static_cast<int>(j));
      Registers out;
      for (std::uint32_t r : NvptxLowering::match_registers(layout_, l_.layout(y), same)) out.push_back(values_[j][r]);
      l_.set(y, std::move(out));
    }
  }

 private:
  /// Registers that follow each other along the axis, one run in each thread.
  struct Group {
    Tuple total;         // of this lane and those before it
    Tuple lane_before;   // what the lane before has as its total
    Tuple warps_before;  // of all warps before
    Tuple all;           // of all warps
  };

  static std::uint32_t same(std::uint32_t flat) { return flat; }
  std::uint32_t in_order(std::uint32_t i, std::uint32_t count) const { return reverse_ ? count - 1 - i : i; }

  std::uint32_t register_of(std::uint32_t group, std::uint32_t in_run) const {
    std::uint32_t r = 0;
    const auto put = [&](std::uint32_t number, const std::vector<int>& bits) {
      for (std::size_t i = 0; i < bits.size(); ++i) r |= (number >> i & 1) << bits[i];
    };
    put(in_run, places_.low_registers);
    put(group, places_.high_registers);
    put(group >> places_.high_registers.size(), plan_.across);
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
    for (Value* x : v) out.push_back(l_.shuffle(NvptxLowering::Shuffle::idx, x, lane));
    return out;
  }

  /// Lanes that are read, by their own numbers: of a reversed scan those along the axis are counted from the other end.
  void find_lanes() {
    const std::uint32_t turned = reverse_ ? lanes_ : 0;
    Value* lane = l_.lane();
    Value* place = b_.CreateXor(lane, l_.i32(turned));
    std::uint32_t below = 0;
    for (int bit : places_.lanes) {
      Value* last_of_half = b_.CreateAnd(b_.CreateOr(place, l_.i32(below)), l_.i32(~(1u << bit)));
      sources_.push_back(b_.CreateXor(last_of_half, l_.i32(turned)));
      takes_.push_back(b_.CreateICmpNE(b_.CreateAnd(place, l_.i32(1u << bit)), l_.i32(0)));
      below |= 1u << bit;
    }
    Value* along = b_.CreateAnd(place, l_.i32(lanes_));
    Value* across = b_.CreateAnd(lane, l_.i32(31u & ~lanes_));
    // Among the bits of a mask the number before x is (x - 1) & mask.
    Value* before = b_.CreateAnd(b_.CreateSub(along, l_.i32(1)), l_.i32(lanes_));
    lane_before_ = b_.CreateOr(across, b_.CreateXor(before, l_.i32(turned)));
    last_lane_ = b_.CreateOr(across, l_.i32(lanes_ ^ turned));
    has_lane_before_ = b_.CreateICmpNE(along, l_.i32(0));
  }

  void scan_group(std::uint32_t g) {
    const std::uint32_t run = 1u << places_.low_registers.size();
    Tuple sum;
    for (std::uint32_t i = 0; i < run; ++i) {
      const std::uint32_t r = register_of(g, in_order(i, run));
      sum = i == 0 ? held(r) : l_.combine(id_, sum, held(r));
      hold(r, sum);
    }
    for (std::size_t i = 0; i < sources_.size(); ++i) sum = select(takes_[i], l_.combine(id_, from_lane(sum, sources_[i]), sum), sum);
    if (lanes_ != 0) groups_[g].lane_before = from_lane(sum, lane_before_);
    groups_[g].total = std::move(sum);
  }

  void scan_warps() {
    const LinearLayout &totals = plan_.totals, &wanted = plan_.wanted;
    // Of the lanes along the axis the last one knows the total; of copies one stores.
    const std::uint32_t free = totals.free_bits(HardwareDim::lane) | totals.free_bits(HardwareDim::warp) << ir::TargetDesc::kLog2WarpLanes;
    Value* stores = free == 0 ? nullptr : b_.CreateICmpEQ(b_.CreateAnd(l_.thread(), l_.i32(free)), l_.i32(reverse_ ? 0 : lanes_));
    std::vector<ir::SharedPlan> ways;
    std::int64_t at = l_.shared_offset(id_);
    for (std::size_t j = 0; j < values_.size(); ++j) {
      ways.push_back(ir::plan_swizzle(totals, wanted, types_[j].element_bytes()));
      Registers own;
      for (const Group& g : groups_) own.push_back(g.total[j]);
      l_.put_shared(types_[j], own, totals, ways[j], at, stores);
      at += passes::total_bytes(plan_, types_[j]);
    }
    l_.emit_barrier();
    std::vector<Registers> read;
    at = l_.shared_offset(id_);
    for (std::size_t j = 0; j < values_.size(); ++j) {
      read.push_back(l_.take_shared(types_[j], wanted, ways[j], at));
      at += passes::total_bytes(plan_, types_[j]);
    }
    const std::uint32_t warps = 1u << places_.warps.size();
    ir::F2Matrix place;
    for (int i = 0; i < ir::TargetDesc::kLog2WarpLanes; ++i) place.columns.push_back(0);
    for (const std::uint32_t basis : totals.bases(HardwareDim::warp)) place.columns.push_back(basis & (warps - 1));
    Value* warp = l_.apply(place, l_.thread());
    if (reverse_) warp = b_.CreateXor(warp, l_.i32(warps - 1));
    has_warp_before_ = b_.CreateICmpNE(warp, l_.i32(0));
    std::vector<Value*> is_after;
    for (std::uint32_t k = 1; k + 1 < warps; ++k) is_after.push_back(b_.CreateICmpUGT(warp, l_.i32(k)));
    for (std::uint32_t g = 0; g < groups_.size(); ++g) {
      const auto total = [&](std::uint32_t k) {
        Tuple out;
        for (const Registers& v : read) out.push_back(v[g << places_.warps.size() | in_order(k, warps)]);
        return out;
      };
      Tuple sum = total(0);
      groups_[g].warps_before = sum;
      for (std::uint32_t k = 1; k + 1 < warps; ++k) {
        sum = l_.combine(id_, sum, total(k));
        groups_[g].warps_before = select(is_after[k - 1], sum, groups_[g].warps_before);
      }
      if (!places_.high_registers.empty()) groups_[g].all = l_.combine(id_, sum, total(warps - 1));
    }
  }

  Tuple all_of(std::uint32_t g) {
    if (!places_.warps.empty()) return groups_[g].all;
    return lanes_ != 0 ? from_lane(groups_[g].total, last_lane_) : groups_[g].total;
  }

  /// `later` after what stands before it.
  Tuple after(const Before& before, const Tuple& later) {
    if (before.value.empty()) return later;
    const Tuple both = l_.combine(id_, before.value, later);
    return before.exists ? select(before.exists, both, later) : both;
  }
  /// Something more, where `exists` holds, after what stands before it.
  Before longer(const Before& before, const Tuple& more, Value* exists) {
    if (before.value.empty()) return {more, exists};
    return {select(exists, after(before, more), before.value), before.exists ? b_.CreateOr(before.exists, exists) : nullptr};
  }

  void finish_group(std::uint32_t g, const Tuple& carried) {
    Before before{carried, nullptr};
    if (!places_.warps.empty()) before = longer(before, groups_[g].warps_before, has_warp_before_);
    if (lanes_ != 0) before = longer(before, groups_[g].lane_before, has_lane_before_);
    for (std::uint32_t i = 0; i < 1u << places_.low_registers.size(); ++i) {
      const std::uint32_t r = register_of(g, i);
      hold(r, after(before, held(r)));
    }
  }

  NvptxLowering& l_;
  llvm::IRBuilder<>& b_;
  const OpId id_;
  const bool reverse_;
  const LinearLayout layout_;
  const passes::ScanPlan plan_;
  const ir::AxisOrder& places_;
  std::vector<Registers> values_;  // by operand
  std::vector<Type> types_;
  std::uint32_t lanes_ = 0;        // lane bits along the axis
  std::vector<Group> groups_;
  std::vector<Value*> sources_, takes_;  // by round: which lane's total a lane takes, and whether it does
  Value *lane_before_ = nullptr, *last_lane_ = nullptr, *has_lane_before_ = nullptr, *has_warp_before_ = nullptr;
};

void NvptxLowering::emit_scan(OpId id) { Scanner(*this, id).run(); }

}  // namespace tilewright::backend::nvptx
