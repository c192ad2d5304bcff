// Collects accesses, groups them, and chooses the cheapest of the candidate layouts for each group.
#include "passes/layout/coalesce.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <set>

#include "passes/analysis/iter_args.h"
#include "passes/analysis/matrix_operands.h"
#include "passes/layout/layout_cost.h"
#include "tileir/layout/layout_builders.h"
#include "tileir/layout_rules.h"
#include "tileir/op_kind.h"
#include "tileir/slices.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes {

namespace {

constexpr int kLog2Lanes = ir::TargetDesc::kLog2WarpLanes;
constexpr int kLog2LineBytes = 7, kLog2SectorBytes = 5, kLog2ChunkBytes = 4, kLog2NarrowPieceBytes = 3;
constexpr int kLeastCopyBytes = 4;  // the least size of a cp.async

bool accesses_memory(const ir::Function& f, OpId id) {
  const Family family = ir::info(f.kind(id)).family;
  return (family == Family::memory || family == Family::atomic) && !f.type(f.operand(id, 0)).is_scalar();
}

/// How often an op counts: 8 times in a loop, 64 times in nested loops, and not at all in an unlikely branch.
int weight_of(const ir::Function& f, OpId id) {
  int weight = 1;
  for (OpId owner = parent_op(f, id); owner; id = owner, owner = parent_op(f, id)) {
    if (f.kind(owner) == OpKind::for_ || f.kind(owner) == OpKind::while_) weight = std::min(weight * 8, 64);
    if (f.kind(owner) == OpKind::if_ && f.attr(owner, AttrName::likely) != 0 && f.op(id).parent == f.region(owner, 1)) weight = 0;
  }
  return weight;
}

/// The axes from fastest to slowest: first the axis of consecutive addresses, then the others from last to first.
std::vector<int> order_of(const AccessInfo& a) {
  std::vector<int> order{a.axis};
  for (int d = a.pointer.rank() - 1; d >= 0; --d)
    if (d != a.axis) order.push_back(d);
  return order;
}

/// Builds a blocked layout: distributes the bits of axes over registers, lanes and warps, as far as the extents go.
class BlockedLayoutBuilder {
 public:
  BlockedLayoutBuilder(std::vector<int> log2_extents, std::vector<int> order) : left_(std::move(log2_extents)), extents_(left_) {
    b_.order = std::move(order);
    b_.log2_per_thread = b_.log2_lanes = b_.log2_warps = std::vector<int>(left_.size());
  }
  int take(std::vector<int>& from, int axis, int bits) {
    const auto a = static_cast<std::size_t>(axis);
    const int taken = std::min(bits, left_[a]);
    left_[a] -= taken;
    from[a] += taken;
    return bits - taken;
  }
  void registers(int axis, int bits) { take(b_.log2_per_thread, axis, bits); }
  /// Puts at most `bits` of all lane bits on the fastest axis, and the others on the next axes.
  void fill_lanes(int all, int bits) {
    const int left = take(b_.log2_lanes, b_.order[0], std::min(bits, all)) + std::max(0, all - bits);
    if (b_.order.size() == 1 || left == 0) return fill(b_.log2_lanes, b_.order, left);
    std::vector<int> others(b_.order.begin() + 1, b_.order.end());
    others.push_back(b_.order[0]);
    fill(b_.log2_lanes, others, left);
  }
  void fill(std::vector<int>& from, std::span<const int> axes, int bits) {
    for (int axis : axes) bits = take(from, axis, bits);
    from[static_cast<std::size_t>(axes[0])] += bits;  // all extents are distributed: these lanes hold copies
  }
  void fill_warps(int bits, bool outermost_first) {
    std::vector<int> axes = b_.order;
    if (outermost_first) std::reverse(axes.begin(), axes.end());
    fill(b_.log2_warps, axes, bits);
  }
  LinearLayout layout() const { return ir::blocked_layout(extents_, b_); }

 private:
  std::vector<int> left_, extents_;
  ir::BlockedLayout b_;
};

/// `log2_row_lanes`: how many lanes of a warp may be on the fastest axis (log2).
LinearLayout blocked(const std::vector<int>& extents, const std::vector<int>& order, int log2_vector, int log2_warps, bool outermost_first,
                     int log2_row_lanes = kLog2Lanes) {
  BlockedLayoutBuilder s(extents, order);
  s.registers(order[0], log2_vector);
  s.fill_lanes(kLog2Lanes, log2_row_lanes);
  s.fill_warps(log2_warps, outermost_first);
  return s.layout();
}

/// The layout of a tile that is copied to shared memory. Neighbouring lanes copy a segment of a row: half of the row, between 64
/// and 128 bytes (a sector, if a copy has less than 16 bytes). So a thread has elements of few rows, and needs few addresses and
/// masks.
/// Lanes that write 128 bytes of shared memory at once have segments of several rows, which should be in different banks: first rows of one
/// line of 128 bytes, then rows whose chunks of 16 bytes are swizzled (passes/plans/buffer_plan.h) by more than a segment, then the others.
LinearLayout copied(const std::vector<int>& extents, const std::vector<int>& order, int log2_vector, int element_bytes, int log2_warps) {
  const int log2_bytes = std::countr_zero(static_cast<unsigned>(element_bytes));
  const int log2_piece = log2_vector + log2_bytes, log2_row = extents[static_cast<std::size_t>(order[0])] + log2_bytes;
  const int log2_segment = log2_piece < kLog2ChunkBytes ? kLog2SectorBytes : std::clamp(log2_row - 1, kLog2LineBytes - 1, kLog2LineBytes);
  LinearLayout l = blocked(extents, order, log2_vector, log2_warps, true, std::max(0, log2_segment - log2_piece));
  if (order.size() < 2) return l;
  const int log2_rows_of_line = std::max(0, kLog2LineBytes - log2_row);
  const int first_swizzled = log2_rows_of_line + std::max(0, log2_segment - kLog2ChunkBytes);
  const auto rank = [&](std::uint32_t basis) {  // rank 0 is written first
    const int bit = std::countr_zero(basis) - l.axis_shift(order[1]);
    return bit < log2_rows_of_line ? 0 : bit >= first_swizzled ? 1 : 2;
  };
  std::vector<std::uint32_t> lanes = l.bases(HardwareDim::lane);
  const auto first = std::find_if(lanes.begin(), lanes.end(), [&](std::uint32_t b) { return (b & l.axis_mask(order[1])) != 0; });
  const auto last = std::find_if(first, lanes.end(), [&](std::uint32_t b) { return (b & l.axis_mask(order[1])) == 0; });
  std::stable_sort(first, last, [&](std::uint32_t a, std::uint32_t b) { return rank(a) < rank(b); });
  l.set_bases(HardwareDim::lane, lanes);
  return l;
}

int log2_elements(const std::vector<int>& extents) { return std::accumulate(extents.begin(), extents.end(), 0); }

}  // namespace

/// Collects a group: follows ops whose tiles have one layout from one access to other accesses.
class Coalescing::GroupBuilder {
 public:
  GroupBuilder(Coalescing& c, const RematerializableValues& rematerializable) : c_(c), f_(c.f_), rematerializable_(rematerializable) {}

  void run(OpId access) {
    group_ = static_cast<int>(c_.groups_.size());
    Group& g = c_.groups_.emplace_back();
    g.log2_extents = ir::log2_extents(f_.type(f_.operand(access, 0)));
    std::vector<std::int64_t> axes(g.log2_extents.size());
    std::iota(axes.begin(), axes.end(), 0);
    visit(access, axes);
    while (!queue_.empty()) {
      const ValueId v = queue_.back();
      queue_.pop_back();
      const std::vector<std::int64_t> at = c_.membership_[v.index].axes;
      if (const OpId definer = f_.value(v).op ? f_.value(v).op : f_.block(f_.value(v).block).parent) follow(definer, v, at);
      for (OpId user : std::vector<OpId>(f_.value(v).users)) {
        follow(user, v, at);
        const OpId parent = f_.block(f_.op(user).parent).parent;
        if (ir::info(f_.kind(user)).has(ir::kTerminator) && parent) follow(parent, v, at);
      }
    }
  }

 private:
  void reach(ValueId v, const std::vector<std::int64_t>& axes) {
    if (f_.type(v).is_scalar() || rematerializable_(v) || c_.membership_[v.index].group >= 0) return;
    c_.membership_[v.index] = {group_, axes};
    queue_.push_back(v);
  }

  /// Adds the tiles of an op whose operands and results have one layout.
  void visit(OpId id, const std::vector<std::int64_t>& axes) {
    if (const int a = c_.access_of_[id.index]; a >= 0 && !seen_.count(a)) {
      seen_.insert(a);
      c_.groups_.back().members.push_back({a, axes});
    }
    for (ValueId v : f_.op(id).operands) reach(v, axes);
    for (ValueId v : f_.op(id).results) reach(v, axes);
  }

  void follow(OpId id, ValueId v, const std::vector<std::int64_t>& axes) {
    const OpKind k = f_.kind(id);
    if (ir::info(k).family == Family::control) {
      for (const auto& variable : loop_carried_values(f_, id))
        if (std::find(variable.begin(), variable.end(), v) != variable.end())
          for (ValueId other : variable) reach(other, axes);
    } else if (k == OpKind::permute_) {
      const auto& by = f_.attr_list(id, ir::AttrName::axes);
      std::vector<std::int64_t> other(axes.size());
      const bool forward = v == f_.operand(id, 0);
      for (std::size_t i = 0; i < by.size(); ++i) {
        const auto from = static_cast<std::size_t>(by[i]);
        (forward ? other[i] : other[from]) = forward ? axes[from] : axes[i];
      }
      reach(forward ? f_.result(id) : f_.operand(id, 0), other);
    } else if (k == OpKind::reduce_) {
      if (v != f_.operand(id, 0)) return;
      const auto axis = static_cast<std::size_t>(f_.attr(id, ir::AttrName::axis));
      c_.groups_.back().reductions.push_back({static_cast<int>(axes[axis]), static_cast<int>(f_.op(id).results.size()), weight_of(f_, id)});
    } else if (ir::layout_rule(k) == ir::LayoutRule::same_layout && k != OpKind::scan_) {
      visit(id, axes);
    }
  }

  Coalescing& c_;
  const ir::Function& f_;
  const RematerializableValues& rematerializable_;
  int group_ = 0;
  std::vector<ValueId> queue_;
  std::set<int> seen_;  // accesses that were visited
};

Coalescing::Coalescing(const ir::Function& f, const AxisInfoAnalysis& axes, const RematerializableValues& rematerializable, int log2_warps)
    : f_(f), log2_warps_(log2_warps), access_of_(f.op_capacity(), -1), membership_(f.value_capacity()) {
  f.walk([&](OpId id) {
    if (!accesses_memory(f, id)) return;
    access_of_[id.index] = static_cast<int>(accesses_.size());
    const AccessInfo info = access_info(f, id, axes);
    accesses_.push_back({id, info, {}, best_solo_layout(info), weight_of(f, id)});
  });
  GroupBuilder builder(*this, rematerializable);
  for (const Access& a : std::vector<Access>(accesses_))
    if (!access(a.op)->group_layout.rank()) {
      builder.run(a.op);
      choose(groups_.back());
    }
}

const Coalescing::Access* Coalescing::access(OpId id) const {
  const int at = id.index < access_of_.size() ? access_of_[id.index] : -1;
  return at < 0 ? nullptr : &accesses_[static_cast<std::size_t>(at)];
}

LinearLayout Coalescing::best_solo_layout(const AccessInfo& a) const {
  const std::vector<int> extents = ir::log2_extents(a.pointer), order = order_of(a);
  const int most = std::max(0, log2_elements(extents) - kLog2Lanes - log2_warps_);
  LinearLayout best;
  int least = INT32_MAX;
  for (int v = std::min(a.log2_widest, most); v >= 0; --v) {
    LinearLayout l = blocked(extents, order, v, log2_warps_, false);
    const int cost = access_cost(a, l);
    if (cost < least) least = cost, best = std::move(l);
  }
  return best;
}

int Coalescing::cost(const Group& g, const LinearLayout& l) const {
  int total = 0;
  for (const Member& m : g.members) {
    const Access& a = accesses_[static_cast<std::size_t>(m.access)];
    const LinearLayout here = l.permuted(m.axes);
    int best = access_cost(a.info, here);
    const int solo = access_cost(a.info, a.solo_layout);
    if (best > solo) best = std::min(best, solo + conversion_cost(here, a.solo_layout, a.info.pointer.pointee().element_bytes()));
    total += a.weight * best;
  }
  for (const Reduction& r : g.reductions) total += r.weight * reduction_cost(l, r.axis, r.results);
  return total;
}

void Coalescing::choose(Group& g) {
  const int most = std::max(0, log2_elements(g.log2_extents) - kLog2Lanes - log2_warps_);
  std::vector<std::pair<std::vector<int>, int>> orders;  // each with the widest access along it
  for (const Member& m : g.members) {
    const AccessInfo& info = accesses_[static_cast<std::size_t>(m.access)].info;
    std::vector<int> order = order_of(info);
    for (int& axis : order) axis = static_cast<int>(m.axes[static_cast<std::size_t>(axis)]);
    const auto known = std::find_if(orders.begin(), orders.end(), [&](const auto& o) { return o.first == order; });
    if (known == orders.end())
      orders.emplace_back(order, std::min(info.log2_widest, most));
    else
      known->second = std::max(known->second, std::min(info.log2_widest, most));
  }
  int least = INT32_MAX;
  const auto consider = [&](LinearLayout l) {
    const int c = cost(g, l);
    if (c < least) least = c, g.layout = std::move(l);
  };
  const bool is_copied = std::all_of(g.members.begin(), g.members.end(), [&](const Member& m) {
    return is_matrix_operand(f_, accesses_[static_cast<std::size_t>(m.access)].op, 1 << log2_warps_);
  });
  if (is_copied && chooses_narrow_operands(g)) return;
  const bool tries_outermost_warps = g.log2_extents.size() > 1 && !g.reductions.empty();
  const int element_bytes = accesses_[static_cast<std::size_t>(g.members[0].access)].info.pointer.pointee().element_bytes();
  for (const auto& [order, widest] : orders)
    for (int v = widest; v >= 0; --v) {
      consider(is_copied ? copied(g.log2_extents, order, v, element_bytes, log2_warps_)
                         : blocked(g.log2_extents, order, v, log2_warps_, false));
      if (tries_outermost_warps) consider(blocked(g.log2_extents, order, v, log2_warps_, true));
    }
  for (const Member& m : g.members) accesses_[static_cast<std::size_t>(m.access)].group_layout = g.layout.permuted(m.axes);
}

/// Rows of matrix operands whose addresses are only multiples of 2 or 1 bytes: cp.async cannot copy them, and each element needs one load.
/// A thread gets the elements of 8 bytes, which it stores to shared memory at once: few stores, and addresses of few rows. With 16 bytes a
/// warp would touch twice as many rows in each load.
bool Coalescing::chooses_narrow_operands(Group& g) {
  const AccessInfo& info = accesses_[static_cast<std::size_t>(g.members[0].access)].info;
  const int element_bytes = info.pointer.pointee().element_bytes();
  if (g.members.size() > 1 || element_bytes << info.log2_widest >= kLeastCopyBytes) return false;
  const int most = std::max(0, log2_elements(g.log2_extents) - kLog2Lanes - log2_warps_);
  const int log2_bytes = std::countr_zero(static_cast<unsigned>(element_bytes));
  const int vector = std::min({kLog2NarrowPieceBytes - log2_bytes, info.log2_run, most});
  g.layout = copied(g.log2_extents, order_of(info), vector, element_bytes, log2_warps_);
  Access& a = accesses_[static_cast<std::size_t>(g.members[0].access)];
  a.group_layout = a.solo_layout = g.layout;
  return true;
}

LinearLayout Coalescing::preferred(ValueId v) const {
  if (v.index < membership_.size() && membership_[v.index].group >= 0)
    return groups_[static_cast<std::size_t>(membership_[v.index].group)].layout.permuted(membership_[v.index].axes);
  const ir::Type t = f_.type(v);
  const std::vector<int> extents = ir::log2_extents(t);
  std::vector<int> order(extents.size());
  std::iota(order.rbegin(), order.rend(), 0);
  const int most = std::max(0, log2_elements(extents) - kLog2Lanes - log2_warps_);
  const int vector = std::countr_zero(static_cast<unsigned>(16 / t.element_bytes()));
  return blocked(extents, order, std::min(vector, most), log2_warps_, false);
}

std::string Coalescing::print() const {
  std::string out;
  for (const Group& g : groups_) {
    out += fmt::format("group: {}, cost {}\n", ir::text(g.layout), cost(g, g.layout));
    for (const Member& m : g.members) {
      const Access& a = accesses_[static_cast<std::size_t>(m.access)];
      out += fmt::format("  {} of {}: {} elements an instruction, cost {}, solo {}\n", ir::text(f_.kind(a.op)), ir::text(a.info.pointer),
                         1 << vector_bits(a.info, a.group_layout).size(), access_cost(a.info, a.group_layout),
                         access_cost(a.info, a.solo_layout));
    }
    for (const Reduction& r : g.reductions)
      out += fmt::format("  reduce along {}: cost {}\n", r.axis, reduction_cost(g.layout, r.axis, r.results));
  }
  return out;
}

}  // namespace tilewright::passes
