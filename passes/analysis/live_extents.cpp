// Derives bounds from the masks of stores and propagates them backwards through the ops.
#include "passes/analysis/live_extents.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

using ir::Function;
using ir::OpId;
using ir::OpKind;
using ir::Type;
using ir::ValueId;

namespace {

/// For each axis of a value: the axis of another tile with the same index; -1 if there is none.
using AxisMap = std::array<int, ir::kMaxRank>;

/// Axes with an extent other than 1, in order.
std::vector<int> running_axes(const Type& t) {
  std::vector<int> axes;
  for (int i = 0; i < t.rank(); ++i)
    if (t.log2_extent(i) > 0) axes.push_back(i);
  return axes;
}

/// For an op that maps indices (broadcast, permute, reshape that moves extents of 1, hints): the axis of the result with the same index as
/// each axis of the operand, -1 where there is none. None for other ops.
std::optional<AxisMap> mapped_axes(const Function& f, OpId id) {
  const auto& op = f.op(id);
  if (op.operands.empty() || f.type(op.operands[0]).is_scalar() || op.results.empty()) return std::nullopt;
  const Type from = f.type(op.operands[0]), to = f.type(op.results[0]);
  AxisMap map;
  map.fill(-1);
  switch (op.kind) {
    case OpKind::broadcast_:
    case OpKind::multiple_of_:
    case OpKind::max_contiguous_:
      for (int i = 0; i < from.rank(); ++i)
        if (from.log2_extent(i) > 0) map[static_cast<std::size_t>(i)] = i;
      return map;
    case OpKind::permute_: {
      const auto& axes = f.attr_list(id, ir::AttrName::axes);
      for (int i = 0; i < to.rank(); ++i) map[static_cast<std::size_t>(axes[static_cast<std::size_t>(i)])] = i;
      return map;
    }
    case OpKind::reshape_: {
      const std::vector<int> a = running_axes(from), b = running_axes(to);
      if (a.size() != b.size()) return std::nullopt;
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (from.log2_extent(a[i]) != to.log2_extent(b[i])) return std::nullopt;
        map[static_cast<std::size_t>(a[i])] = b[i];
      }
      return map;
    }
    default: return std::nullopt;
  }
}

/// Whether the first element of the value along each axis is computed only from parameters and program ids, by few ops. `ops`: those that
/// have been visited.
bool is_of_program(const Function& f, ValueId v, std::set<OpId>& ops) {
  constexpr std::size_t kMostOps = 64;
  const OpId id = f.value(v).op;
  if (!id) return f.value(v).block == f.body();
  const auto& op = f.op(id);
  const auto& info = ir::info(op.kind);
  switch (op.kind) {
    case OpKind::program_id_:
    case OpKind::num_programs_:
    case OpKind::constant_:
    case OpKind::arange_: return true;
    case OpKind::broadcast_:
    case OpKind::reshape_:
    case OpKind::permute_:
    case OpKind::multiple_of_:
    case OpKind::max_contiguous_: break;
    default:
      if (!info.has(ir::kElementwise)) return false;
  }
  if (!f.type(v).is_integer() && !f.type(v).is_bool()) return false;
  if (!ops.insert(id).second) return true;
  return ops.size() <= kMostOps && std::all_of(op.operands.begin(), op.operands.end(), [&](ValueId x) { return is_of_program(f, x, ops); });
}

bool is_of_program(const Function& f, ValueId v) {
  std::set<OpId> ops;
  return is_of_program(f, v, ops);
}

bool is_constant_along(const AxisInfo& info, const Type& t, int but = -1) {
  for (int i = 0; i < t.rank(); ++i)
    if (i != but && info.constancy[static_cast<std::size_t>(i)] < t.extent(i)) return false;
  return true;
}

/// The axis along which the comparison holds for a prefix of the indices; -1 if there is none.
int prefix_axis(const Function& f, const AxisInfoAnalysis& info, OpId id) {
  const auto& op = f.op(id);
  const bool less = op.kind == OpKind::lt_ || op.kind == OpKind::le_;
  if (!less && op.kind != OpKind::gt_ && op.kind != OpKind::ge_) return -1;
  const Type t = f.type(op.operands[0]);
  if (t.is_scalar() || !t.is_integer() || t.element() == ir::Element::u64) return -1;
  const ValueId index = op.operands[less ? 0 : 1], bound = op.operands[less ? 1 : 0];
  if (info(index).assumes_no_wrap || !is_constant_along(info(bound), t) || !is_of_program(f, index) || !is_of_program(f, bound)) return -1;
  for (int i = 0; i < t.rank(); ++i)
    if (t.log2_extent(i) > 0 && info(index).contiguity[static_cast<std::size_t>(i)] >= t.extent(i) && is_constant_along(info(index), t, i))
      return i;
  return -1;
}

}  // namespace

LiveIndices join(LiveIndices a, LiveIndices b) {
  if (a.is_all || b.is_all) return {true, 0};
  return {false, a.bounds | b.bounds};
}

PrefixComparison prefix_comparison(const Function& f, OpId id) {
  const auto& op = f.op(id);
  const bool less = op.kind == OpKind::lt_ || op.kind == OpKind::le_;
  return {op.operands[less ? 0 : 1], op.operands[less ? 1 : 0], op.kind == OpKind::le_ || op.kind == OpKind::ge_};
}

LiveExtents::LiveExtents(const Function& f, const AxisInfoAnalysis& info) : f_(f), info_(info), live_(f.value_capacity()) {
  std::vector<OpId> ops;
  f.walk([&](OpId id) {
    ops.push_back(id);
    if (f.kind(id) == OpKind::store_) stores_[id] = stored(id);
  });
  do {
    changed_ = false;
    for (auto id = ops.rbegin(); id != ops.rend(); ++id) visit(*id);
  } while (changed_);
}

int LiveExtents::number_of(const PrefixBound& bound) {
  constexpr std::size_t kMost = 64;
  const auto at = std::find(bounds_.begin(), bounds_.end(), bound);
  if (at != bounds_.end()) return static_cast<int>(at - bounds_.begin());
  if (bounds_.size() == kMost) return -1;
  bounds_.push_back(bound);
  return static_cast<int>(bounds_.size()) - 1;
}

LiveExtents::Axes LiveExtents::stored(OpId store) {
  std::array<PrefixBound, ir::kMaxRank> found;
  const auto collect = [&](const auto& self, ValueId mask, const AxisMap& axes) -> void {
    const OpId id = f_.value(mask).op;
    if (!id) return;
    const auto& op = f_.op(id);
    if (op.kind == OpKind::bit_and_) {
      for (ValueId x : op.operands) self(self, x, axes);
      return;
    }
    if (const auto map = mapped_axes(f_, id)) {
      AxisMap of_operand;
      of_operand.fill(-1);
      for (std::size_t i = 0; i < map->size(); ++i)
        if ((*map)[i] >= 0) of_operand[i] = axes[static_cast<std::size_t>((*map)[i])];
      self(self, op.operands[0], of_operand);
      return;
    }
    const int axis = prefix_axis(f_, info_, id);
    if (axis >= 0 && axes[static_cast<std::size_t>(axis)] >= 0)
      found[static_cast<std::size_t>(axes[static_cast<std::size_t>(axis)])].comparisons.push_back(id);
  };
  if (const ValueId mask = ir::mask_of(f_, store)) {
    AxisMap same;
    for (std::size_t i = 0; i < same.size(); ++i) same[i] = static_cast<int>(i);
    collect(collect, mask, same);
  }
  Axes axes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::sort(found[i].comparisons.begin(), found[i].comparisons.end());
    const int number = found[i].comparisons.empty() ? -1 : number_of(found[i]);
    axes[i] = number < 0 ? LiveIndices{true, 0} : LiveIndices{false, std::uint64_t{1} << number};
  }
  return axes;
}

LiveIndices LiveExtents::of_op(OpId id, int axis) const {
  const auto& op = f_.op(id);
  if (op.kind == OpKind::store_) return stores_.at(id)[static_cast<std::size_t>(axis)];
  if (op.kind == OpKind::reduce_) {
    // The op reads its own axis completely; along the other axes it reads the live indices of its results.
    const int own = static_cast<int>(f_.attr(id, ir::AttrName::axis));
    LiveIndices live{axis == own, 0};
    for (ValueId r : op.results)
      if (axis != own) live = join(live, (*this)(r, axis < own ? axis : axis - 1));
    return live;
  }
  if (op.results.empty() || (op.kind == OpKind::load_ && f_.attr(id, ir::AttrName::is_volatile))) return {true, 0};
  return (*this)(op.results[0], axis);
}

void LiveExtents::demand(ValueId v, int axis, LiveIndices live) {
  LiveIndices& at = live_[v.index][static_cast<std::size_t>(axis)];
  const LiveIndices joined = join(at, live);
  if (joined == at) return;
  at = joined;
  changed_ = true;
}

void LiveExtents::demand_all(ValueId v) {
  for (int i = 0; i < f_.type(v).rank(); ++i) demand(v, i, {true, 0});
}

void LiveExtents::pass_on(ValueId from, ValueId to) {
  for (int i = 0; i < f_.type(to).rank(); ++i) demand(to, i, (*this)(from, i));
}

void LiveExtents::visit_control(OpId id) {
  const auto& op = f_.op(id);
  const auto pass_operands = [&](const std::vector<ValueId>& from, OpId terminator, std::size_t first) {
    const auto& operands = f_.op(terminator).operands;
    for (std::size_t i = 0; i < from.size(); ++i) pass_on(from[i], operands[first + i]);
  };
  if (op.kind == OpKind::if_) {
    for (ir::BlockId region : op.regions) pass_operands(op.results, f_.terminator(region), 0);
    return;
  }
  const bool is_for = op.kind == OpKind::for_;
  const std::size_t first_init = is_for ? 3 : 0, first_arg = is_for ? 1 : 0;
  const std::vector<ValueId>& all = f_.block(op.regions[0]).args;
  const std::vector<ValueId> args(all.begin() + static_cast<std::ptrdiff_t>(first_arg), all.end());
  for (std::size_t i = 0; i < args.size(); ++i) pass_on(args[i], op.operands[first_init + i]);
  if (is_for) {
    // The result is the last yielded value, or the initial one.
    for (std::size_t i = 0; i < op.results.size(); ++i) pass_on(op.results[i], op.operands[first_init + i]);
    pass_operands(op.results, f_.terminator(op.regions[0]), 0);
    pass_operands(args, f_.terminator(op.regions[0]), 0);
    return;
  }
  pass_operands(op.results, f_.terminator(op.regions[0]), 1);
  pass_operands(f_.block(op.regions[1]).args, f_.terminator(op.regions[0]), 1);
  pass_operands(args, f_.terminator(op.regions[1]), 0);
}

void LiveExtents::visit(OpId id) {
  const auto& op = f_.op(id);
  switch (op.kind) {
    case OpKind::for_:
    case OpKind::while_:
    case OpKind::if_: return visit_control(id);
    case OpKind::yield_:
    case OpKind::condition_: return;  // handled with the op around them
    case OpKind::store_: {
      demand_all(op.operands[0]);
      if (const ValueId mask = ir::mask_of(f_, id)) demand_all(mask);
      for (int i = 0; i < f_.type(op.operands[1]).rank(); ++i) demand(op.operands[1], i, of_op(id, i));
      return;
    }
    case OpKind::load_:
      for (std::size_t i = 0; i < op.operands.size(); ++i) i < 2 ? demand_all(op.operands[i]) : pass_on(op.results[0], op.operands[i]);
      return;
    case OpKind::reduce_:
      for (ValueId x : op.operands)
        for (int i = 0; i < f_.type(x).rank(); ++i) demand(x, i, of_op(id, i));
      return;
    case OpKind::dot_: {
      const ValueId c = op.results[0];
      const int rank = f_.type(c).rank();
      pass_on(c, op.operands[2]);
      for (int i = 0; i + 2 < rank; ++i)
        for (int side : {0, 1}) demand(op.operands[static_cast<std::size_t>(side)], i, (*this)(c, i));
      demand(op.operands[0], rank - 2, (*this)(c, rank - 2));
      demand(op.operands[0], rank - 1, {true, 0});
      demand(op.operands[1], rank - 2, {true, 0});
      demand(op.operands[1], rank - 1, (*this)(c, rank - 1));
      return;
    }
    default: break;
  }
  if (const auto map = mapped_axes(f_, id)) {
    for (int i = 0; i < f_.type(op.operands[0]).rank(); ++i)
      if (const int axis = (*map)[static_cast<std::size_t>(i)]; axis >= 0) demand(op.operands[0], i, (*this)(op.results[0], axis));
    return;
  }
  if (ir::info(op.kind).has(ir::kElementwise)) {
    for (ValueId x : op.operands) pass_on(op.results[0], x);
    return;
  }
  for (ValueId x : op.operands) demand_all(x);
}

std::string LiveExtents::print() const {
  std::vector<std::string> names(f_.value_capacity());
  const auto& params = f_.block(f_.body()).args;
  for (std::size_t i = 0; i < params.size(); ++i)
    names[params[i].index] = i < f_.params.size() ? f_.params[i].name : fmt::format("arg{}", i);
  std::vector<ValueId> tiles;
  int next = 0;  // values are numbered as by the printer: in order of definition
  const auto name = [&](ValueId v) {
    names[v.index] = fmt::format("{}", next++);
    if (f_.type(v).rank() > 0) tiles.push_back(v);
  };
  f_.walk([&](OpId id) {
    for (ValueId v : f_.op(id).results) name(v);
    for (ir::BlockId b : f_.op(id).regions)
      for (ValueId v : f_.block(b).args) name(v);
  });
  const auto text = [&](LiveIndices live) {
    if (live.is_all) return std::string("all");
    std::string out;
    for (std::size_t i = 0; i < bounds_.size(); ++i) {
      if ((live.bounds >> i & 1) == 0) continue;
      std::string all_of;
      for (OpId id : bounds_[i].comparisons) all_of += (all_of.empty() ? "%" : " & %") + names[f_.op(id).results[0].index];
      out += (out.empty() ? "" : " | ") + all_of;
    }
    return out.empty() ? std::string("none") : out;
  };
  std::string out;
  for (ValueId v : tiles) {
    std::string axes;
    for (int i = 0; i < f_.type(v).rank(); ++i) axes += (i > 0 ? ", " : "") + text((*this)(v, i));
    out += fmt::format("%{}: live = [{}]\n", names[v.index], axes);
  }
  return out;
}

}  // namespace tilewright::passes
