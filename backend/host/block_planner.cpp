// Schedules each op of a block; see block_planner.h.
#include "backend/host/block_planner.h"

#include <algorithm>
#include <unordered_map>

#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::OpKind;
using ir::Type;

BlockPlanner::BlockPlanner(EvaluationPlan& plan, BlockId b)
    : p_(plan),
      f_(plan.f_),
      block_(b),
      steps_(plan.blocks_[b.index].steps),
      ready_(f_.value_capacity(), 0),
      made_in_(f_.value_capacity(), -1),
      memory_order_(f_, plan.memory_ ? &plan.memory_->info : nullptr) {}

/// The order of a block's ops up to the first effect: loads of rows, and the ops that they need, come before loads of tiles. A row is a
/// loop nest of its own, which would end the loop nest of tiles before it: these would go through memory to ops that use them with the row.
std::vector<OpId> BlockPlanner::ops_in_order() const {
  std::vector<OpId> ops;
  for (OpId id : f_.ops(block_)) ops.push_back(id);
  const auto is_free = [&](OpId id) {
    const OpKind k = f_.kind(id);
    return k == OpKind::load_ ? !f_.attr(id, ir::AttrName::is_volatile) : ir::info(k).has(ir::kPure);
  };
  const auto elements = [&](OpId id) { return f_.type(f_.result(id)).elements(); };
  const auto effect = std::find_if_not(ops.begin(), ops.end(), is_free);
  std::int64_t most = 1;
  bool row_follows_tile = false;
  for (auto op = ops.begin(); op != effect; ++op) {
    if (f_.kind(*op) != OpKind::load_) continue;
    row_follows_tile = row_follows_tile || (elements(*op) > 1 && elements(*op) < most);
    most = std::max<std::int64_t>(most, elements(*op));
  }
  if (!row_follows_tile) return ops;
  std::vector<bool> comes_first(f_.value_capacity());
  const auto is_ready = [&](ValueId x) { return f_.defining_block(x) != block_ || comes_first[x.index] || !f_.value(x).op.valid(); };
  std::vector<OpId> rows, others;
  for (auto op = ops.begin(); op != effect; ++op) {
    const auto& operands = f_.op(*op).operands;
    const bool is_row = f_.op(*op).regions.empty() && f_.op(*op).results.size() == 1 && elements(*op) < most &&
                        std::all_of(operands.begin(), operands.end(), is_ready);
    if (is_row) comes_first[f_.result(*op).index] = true;
    (is_row ? rows : others).push_back(*op);
  }
  std::copy(others.begin(), others.end(), std::copy(rows.begin(), rows.end(), ops.begin()));
  return ops;
}

void BlockPlanner::run() {
  const std::vector<OpId> ops = ops_in_order();
  if (p_.memory_) {
    distribution_.emplace(f_, p_, ops, p_.memory_->lanes);
    recomputation_.emplace(f_, p_, *p_.memory_, block_);
  }
  for (OpId id : ops) {
    const auto& op = f_.op(id);
    const auto& info = ir::info(op.kind);
    if (info.has(ir::kTerminator)) {
      schedule_terminator(id);
    } else if (info.family == ir::Family::control) {
      schedule_control(id);
    } else if (op.kind == OpKind::dot_) {
      schedule_dot(id);
    } else if (works_on_buffers(op.kind)) {
      schedule_on_buffers(id);
    } else if (op.kind == OpKind::load_ && p_.schedule(op.results[0]) == Schedule::in_place) {
      continue;
    } else if (schedule_interchanged(id)) {
      continue;
    } else if (op.kind == OpKind::store_ || (op.kind == OpKind::load_ && !f_.type(op.results[0]).is_scalar())) {
      if (op.kind == OpKind::store_ && f_.type(op.operands[0]).is_scalar())
        schedule_scalar(id);
      else
        schedule_fused(id);
    } else if (op.kind == OpKind::reduce_) {
      if (!p_.is_alias(id)) schedule_fused(id);
    } else if (p_.schedule(op.results[0]) == Schedule::scalar) {
      schedule_scalar(id);
    } else if (p_.schedule(op.results[0]) == Schedule::fused) {
      schedule_fused(id);
    } else if (p_.schedule(op.results[0]) == Schedule::buffered) {
      op.kind == OpKind::permute_ ? schedule_permute(id) : schedule_reshape(id);
    } else if (p_.schedule(op.results[0]) == Schedule::inlined) {
      for (ValueId x : op.operands) require_buffer(x);
    }
  }
  if (!pending_.empty()) append(Step{});
}

int BlockPlanner::append(Step step) {
  step.scalars_before = std::move(pending_);
  pending_.clear();
  steps_.push_back(std::move(step));
  return static_cast<int>(steps_.size()) - 1;
}

/// The first step that may use a value, except for the loop nest that computes it.
int BlockPlanner::ready(ValueId v) const {
  if (f_.defining_block(v) != block_) return 0;  // defined in an outer block
  switch (p_.schedule(v)) {
    case Schedule::scalar:
    case Schedule::fused:
    case Schedule::buffered: return ready_[v.index];
    case Schedule::alias: return ready(p_.resolve(v).value);
    case Schedule::in_place:
    case Schedule::inlined: {
      int at = 0;
      for (ValueId x : f_.op(f_.value(v).op).operands) at = std::max(at, ready(x));
      return at;
    }
  }
  TW_UNREACHABLE("a schedule");
}

int BlockPlanner::operand_needs(ValueId x, const std::vector<std::int64_t>& extents) const {
  const Source s = p_.resolve(x);
  const bool from_loop_nest = f_.defining_block(s.value) == block_ && made_in_[s.value.index] >= 0;
  if (!from_loop_nest || f_.kind(f_.value(s.value).op) == OpKind::reduce_) return ready(x);
  // The value is in registers of its loop nest if this item uses it at the same index.
  const Type from = f_.type(s.value);
  const Type asked = f_.type(x);
  const AxisMap of_asked = squeezed_axes(asked);
  std::int8_t next = 0;
  bool same = squeezed(from) == extents;
  for (int i = 0; i < from.rank() && same; ++i)
    if (from.log2_extent(i) > 0) same = s.map[i] >= 0 && of_asked[s.map[i]] == next++;
  return same ? made_in_[s.value.index] : ready(x);
}

int BlockPlanner::needs(OpId id, const std::vector<std::int64_t>& extents) const {
  int at = 0;
  for (ValueId x : f_.op(id).operands) at = std::max(at, operand_needs(x, extents));
  // A reduce's region may use scalars from outside.
  for (BlockId r : f_.op(id).regions)
    f_.walk(r, [&](OpId inner) {
      for (ValueId x : f_.op(inner).operands)
        if (!f_.encloses(r, f_.defining_block(x))) at = std::max(at, ready(x));
    });
  return at;
}

void BlockPlanner::schedule_scalar(OpId id) {
  const auto& op = f_.op(id);
  int at = 0;
  for (ValueId x : op.operands) {
    at = std::max(at, ready(x));
    if (!f_.type(x).is_scalar()) require_buffer(x);
  }
  const bool is_access = op.kind == OpKind::load_ || op.kind == OpKind::store_;
  if (op.kind == OpKind::load_) at = std::max(at, memory_order_.first_step(id));
  if (op.kind == OpKind::store_ || (is_access && f_.attr(id, ir::AttrName::is_volatile))) at = static_cast<int>(steps_.size());
  (at < static_cast<int>(steps_.size()) ? steps_[at].scalars_before : pending_).push_back(id);
  for (ValueId r : op.results) ready_[r.index] = at;
  p_.step_of_[id.index] = at;
  if (is_access) memory_order_.add(id, at);
}

void BlockPlanner::schedule_fused(OpId id) {
  const auto& op = f_.op(id);
  const Type shape = f_.type(op.kind == OpKind::store_ || op.kind == OpKind::reduce_ ? op.operands[0] : op.results[0]);
  const auto extents = squeezed(shape);
  const bool is_access = op.kind == OpKind::load_ || op.kind == OpKind::store_;
  int at = needs(id, extents);
  if (is_access) at = std::max(at, memory_order_.first_step(id));
  const int count = static_cast<int>(steps_.size());
  const int part = distribution_ ? distribution_->part(id) : 0;
  part_of_step_.resize(steps_.size());
  const auto dot = p_.right_of_.find(id);
  const bool is_right = dot != p_.right_of_.end();  // then the load is executed only if the dot does not read its memory
  const auto may_join = [&](int i) {
    return steps_[i].is_loops && !is_right && !steps_[i].right_of && !steps_[i].is_interchanged && steps_[i].extents == extents &&
           part_of_step_[i] == part;
  };
  while (at < count && !may_join(at)) ++at;
  if (at == count) {
    Step step;
    step.is_loops = true;
    step.extents = extents;
    if (is_right) step.right_of = dot->second;
    append(std::move(step));
    part_of_step_.push_back(part);
  }
  for (ValueId x : op.operands) require_in_nest(x, at);
  steps_[at].items.push_back({id, {}, kNoClass});
  p_.step_of_[id.index] = at;
  for (ValueId r : op.results) {
    made_in_[r.index] = at;
    ready_[r.index] = at + 1;
    // A reduce keeps its results in memory unless they are scalars.
    if (op.kind == OpKind::reduce_ && !f_.type(r).is_scalar()) p_.ensure_class(r);
  }
  if (is_access) memory_order_.add(id, at);
}

void BlockPlanner::require_in_nest(ValueId operand, int nest) {
  const Source s = p_.resolve(operand);
  std::vector<Item>& items = steps_[nest].items;
  const auto is_there = [&](ValueId v) {
    return std::any_of(items.begin(), items.end(), [&](const Item& item) { return item.op && item.op == f_.value(v).op; });
  };
  if (p_.schedule(s.value) != Schedule::fused || (f_.defining_block(s.value) == block_ && is_there(s.value))) return;
  const bool is_needed_once = operand_needs(operand, steps_[nest].extents) < ready(operand);  // at the same index
  if (recomputation_ && !p_.has_buffer(s.value) && is_needed_once && part_of_step_[nest] == 0)
    for (OpId id : recomputation_->ops_of(s.value, is_there)) {
      items.push_back({id, {}, kNoClass, true});
      if (f_.kind(id) == OpKind::load_) memory_order_.add(id, nest);
    }
  if (!is_there(s.value)) require_buffer(s.value);
}

int BlockPlanner::interchanged_axis(OpId id) const {
  const auto& op = f_.op(id);
  const Type t = f_.type(op.operands[0]);
  const auto extents = squeezed(t);
  if (!p_.memory_ || extents.size() < 2 || f_.attr(id, ir::AttrName::is_volatile)) return -1;
  const AxisMap number = squeezed_axes(t);
  const passes::AxisInfo& info = p_.memory_->info(op.operands[0]);
  int longest = -1;
  for (int axis = 0; axis < t.rank(); ++axis) {
    const bool is_last = number[axis] == static_cast<int>(extents.size()) - 1;
    if (is_last && (info.contiguity[axis] > 1 || info.constancy[axis] > 1)) return -1;
    if (!is_last && info.contiguity[axis] > 1 && (longest < 0 || info.contiguity[axis] > info.contiguity[longest])) longest = axis;
  }
  // Other operands would be read from buffers along the wrong axis.
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const bool is_stored = op.kind == OpKind::store_ && i == 1;
    if (!is_stored && !f_.type(op.operands[i]).is_scalar() && p_.schedule(p_.resolve(op.operands[i]).value) != Schedule::inlined) return -1;
  }
  return longest;
}

bool BlockPlanner::schedule_interchanged(OpId id) {
  const auto& op = f_.op(id);
  const bool is_load = op.kind == OpKind::load_;
  if (!is_load && op.kind != OpKind::store_) return false;
  const int axis = interchanged_axis(id);
  if (axis < 0) return false;
  const ValueId tile = is_load ? op.results[0] : op.operands[1];
  const Type t = f_.type(tile);
  const std::int64_t run = p_.memory_->info(op.operands[0]).contiguity[axis];
  const Source s = p_.resolve(tile);
  const Strides strides = strides_of(f_, s);
  const bool is_in_buffer = p_.schedule(s.value) == Schedule::fused || p_.schedule(s.value) == Schedule::buffered;
  Step step;
  int before_last = -1;
  if (!is_in_buffer || strides[axis] <= 1) {
    // The stored value must be read along the same axis.
    if (run < std::min<std::int64_t>(t.extent(axis), p_.memory_->lanes)) return false;
  } else {
    before_last = static_cast<int>(std::find(strides.begin(), strides.end(), 1) - strides.begin());
    if (before_last == ir::kMaxRank) return false;
    const std::int64_t other = t.extent(before_last);
    step.transposed = transposed_block(p_.memory_->lanes, t.element_bytes(), is_load ? other : run, is_load ? run : other);
    if (!step.transposed) return false;
  }
  step.is_loops = step.is_interchanged = true;
  const AxisMap number = squeezed_axes(t);
  const auto add_dim = [&](int a) {
    step.dims_of_axes[static_cast<std::size_t>(number[a])] = static_cast<std::int8_t>(step.extents.size());
    step.extents.push_back(t.extent(a));
  };
  for (int a = 0; a < t.rank(); ++a)
    if (t.log2_extent(a) > 0 && a != axis && a != before_last) add_dim(a);
  if (before_last >= 0) add_dim(before_last);
  add_dim(axis);
  step.items.push_back({id, {}, kNoClass});
  if (is_load)
    p_.ensure_class(tile);
  else
    require_buffer(tile);
  const int at = append(std::move(step));
  p_.step_of_[id.index] = at;
  memory_order_.add(id, at);
  if (is_load) ready_[tile.index] = at + 1;
  return true;
}

void BlockPlanner::schedule_permute(OpId id) {
  const auto& op = f_.op(id);
  require_buffer(op.operands[0]);
  p_.ensure_class(op.results[0]);
  Step step;
  step.op = id;
  const int at = append(std::move(step));
  p_.step_of_[id.index] = at;
  ready_[op.results[0].index] = at + 1;
}

void BlockPlanner::require_buffer(ValueId v) {
  const Source s = p_.resolve(v);
  if (p_.schedule(s.value) == Schedule::fused || p_.schedule(s.value) == Schedule::buffered) p_.ensure_class(s.value);
}

void BlockPlanner::fill(ValueId v, ClassId target) {
  require_buffer(v);
  Step step;
  step.is_loops = true;
  step.extents = squeezed(f_.type(v));
  step.items.push_back({{}, v, target});
  append(std::move(step));
}

void BlockPlanner::read_whole(OpId id, int operand) {
  const ValueId x = f_.operand(id, operand);
  if (f_.type(x).is_scalar()) return;
  const Schedule schedule = p_.schedule(x);
  if (schedule == Schedule::in_place) return;
  if (schedule == Schedule::fused || schedule == Schedule::buffered) {
    p_.ensure_class(x);
    return;
  }
  const Type t = f_.type(x);
  const ClassId c = p_.new_class(t.elements() * t.element_bytes());
  fill(x, c);
  p_.filled_.push_back({id, operand, c});
}

/// A reshape that is not an alias: the same buffer with another shape.
void BlockPlanner::schedule_reshape(OpId id) {
  const auto& op = f_.op(id);
  read_whole(id, 0);
  const ClassId c = p_.operand_class(id, 0);
  if (p_.class_[op.results[0].index] == kNoClass) p_.class_[op.results[0].index] = c;
  Step step;
  step.op = id;
  p_.step_of_[id.index] = append(std::move(step));
  ready_[op.results[0].index] = static_cast<int>(steps_.size());
}

void BlockPlanner::schedule_dot(OpId id) {
  const auto& op = f_.op(id);
  read_whole(id, 0);
  read_whole(id, 1);
  const ValueId acc = op.operands[2];
  const ValueId result = op.results[0];
  const Schedule schedule = p_.schedule(acc);
  const ClassId c = p_.ensure_class(result);
  Step step;
  step.op = id;
  if (schedule == Schedule::inlined || schedule == Schedule::alias) {
    fill(acc, c);
  } else {
    // The accumulator is updated in place if nothing else uses its old value.
    const OpId def = f_.value(acc).op;
    const bool alone =
        f_.value(acc).users.size() == 1 && f_.defining_block(acc) == block_ &&
        (!def || ir::info(f_.kind(def)).has(ir::kElementwise) || f_.kind(def) == OpKind::load_ || f_.kind(def) == OpKind::dot_);
    p_.ensure_class(acc);
    if (alone)
      p_.unite(c, p_.class_of(acc));
    else
      step.copies.push_back({p_.class_of(acc), c});
  }
  p_.step_of_[id.index] = append(std::move(step));
  ready_[result.index] = static_cast<int>(steps_.size());
  if (const InPlaceFactor* right = p_.right_in_memory(id)) memory_order_.add(right->load, p_.step_of_[id.index]);
}

/// Results of rank 0, which split may have, are scalars from this step on.
void BlockPlanner::schedule_on_buffers(OpId id) {
  const auto& op = f_.op(id);
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    // For values that a sort carries along, it computes only the elements that it keeps.
    if (op.kind == OpKind::sort_ && i > 0 && p_.schedule(op.operands[i]) == Schedule::inlined) continue;
    read_whole(id, static_cast<int>(i));
  }
  const bool is_atomic = ir::info(op.kind).family == ir::Family::atomic;
  for (ValueId r : op.results)
    if (!f_.type(r).is_scalar() && !(is_atomic && !f_.has_uses(r))) p_.ensure_class(r);  // the results of most atomics are unused
  Step step;
  step.op = id;
  const int at = append(std::move(step));
  p_.step_of_[id.index] = at;
  for (ValueId r : op.results) ready_[r.index] = at + 1;
  if (ir::info(op.kind).has(ir::kReads) || ir::info(op.kind).has(ir::kWrites)) memory_order_.begin_at(at + 1);
}

}  // namespace tilewright::backend::host
