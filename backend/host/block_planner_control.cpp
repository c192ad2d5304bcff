// Schedules loops, branches and the ends of their blocks: which buffers hold the tiles that go from one block to another; see
// block_planner.h.
#include <algorithm>

#include "backend/host/block_planner.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::OpKind;

bool BlockPlanner::accesses_memory(OpId id) const {
  bool found = false;
  for (BlockId b : f_.op(id).regions)
    f_.walk(b, [&](OpId inner) { found = found || ir::info(f_.kind(inner)).has(ir::kReads) || ir::info(f_.kind(inner)).has(ir::kWrites); });
  return found;
}

/// Whether a contraction begins the sums of a carried tile by itself.
bool BlockPlanner::starts_at_zero(OpId loop, ValueId argument) const {
  const Contraction* found = p_.contraction(loop);
  return found && std::any_of(found->dots.begin(), found->dots.end(),
                              [&](const ContractedDot& each) { return each.starts_at_zero && f_.operand(each.dot, 2) == argument; });
}

void BlockPlanner::schedule_control(OpId id) {
  const auto& op = f_.op(id);
  const bool is_for = op.kind == OpKind::for_;
  const bool is_while = op.kind == OpKind::while_;
  Step step;
  step.op = id;
  // Carried tiles: the argument and the result of a for share a buffer; a while has one buffer for each of its regions.
  const int first = is_for ? 3 : 0;
  for (std::size_t i = 0; i < op.results.size(); ++i) {
    const ValueId r = op.results[i];
    if (f_.type(r).is_scalar()) continue;
    const ClassId c = p_.ensure_class(r);
    if (is_for) p_.class_[f_.arg(op.regions[0], static_cast<int>(i) + 1).index] = c;
    if (is_while) p_.class_[f_.arg(op.regions[1], static_cast<int>(i)).index] = c;
    ClassId into = c;
    if (is_while) into = p_.ensure_class(f_.arg(op.regions[0], static_cast<int>(i)));
    if (!is_for && !is_while) continue;
    if (is_for && starts_at_zero(id, f_.arg(op.regions[0], static_cast<int>(i) + 1))) continue;
    const ValueId init = op.operands[first + i];
    const Schedule schedule = p_.schedule(init);
    if (schedule == Schedule::inlined || schedule == Schedule::alias)
      fill(init, into);
    else
      step.copies.push_back({p_.ensure_class(init), into});
  }
  for (BlockId b : op.regions) BlockPlanner(p_, b).run();
  // Tiles of this block that the regions read must be stored in buffers.
  for (BlockId b : op.regions)
    f_.walk(b, [&](OpId inner) {
      for (ValueId x : f_.op(inner).operands) {
        const Source s = p_.resolve(x);
        if (p_.schedule(s.value) == Schedule::fused && !f_.encloses(b, f_.defining_block(s.value))) p_.ensure_class(s.value);
      }
    });
  const int at = append(std::move(step));
  p_.step_of_[id.index] = at;
  for (ValueId r : op.results) ready_[r.index] = at + 1;
  if (accesses_memory(id)) memory_order_.begin_at(at + 1);
}

void BlockPlanner::deliver(ValueId v, ClassId to, Step& terminator) {
  const Schedule schedule = p_.schedule(v);
  if (schedule == Schedule::inlined || schedule == Schedule::alias)
    fill(v, to);
  else if (p_.find(p_.ensure_class(v)) != p_.find(to))
    terminator.copies.push_back({p_.class_of(v), to});
}

void BlockPlanner::schedule_terminator(OpId id) {
  const auto& op = f_.op(id);
  const OpId parent = f_.block(block_).parent;
  Step step;
  step.op = id;
  const auto& owner = f_.op(parent);
  if (owner.kind == OpKind::for_) {
    yield_to_for(id, parent);
    return;
  }
  if (owner.kind == OpKind::if_) {
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      const ValueId v = op.operands[i];
      const ValueId r = owner.results[i];
      if (f_.type(v).is_scalar()) continue;
      // Nothing reads the result before the end of the arm, so the arm may write its value directly into the result's buffer.
      const bool first_time = std::find(op.operands.begin(), op.operands.begin() + static_cast<std::ptrdiff_t>(i), v) ==
                              op.operands.begin() + static_cast<std::ptrdiff_t>(i);
      if (p_.schedule(v) == Schedule::fused && f_.defining_block(v) == block_ && first_time && !p_.has_buffer(v))
        p_.class_[v.index] = p_.class_of(r);
      deliver(v, p_.class_of(r), step);
    }
  } else if (owner.kind == OpKind::while_) {
    const bool is_condition = op.kind == OpKind::condition_;
    for (std::size_t i = is_condition ? 1 : 0; i < op.operands.size(); ++i) {
      const ValueId v = op.operands[i];
      if (f_.type(v).is_scalar()) continue;
      const int n = static_cast<int>(i) - (is_condition ? 1 : 0);
      deliver(v, p_.class_of(f_.arg(owner.regions[is_condition ? 1 : 0], n)), step);
    }
  }
  p_.step_of_[id.index] = append(std::move(step));
}

/// The ops of this block that read a tile of it, directly or through aliases.
std::vector<OpId> BlockPlanner::readers(ValueId v) const {
  std::vector<OpId> out;
  for (OpId user : f_.value(v).users) {
    if (p_.is_alias(user)) {
      for (ValueId r : f_.op(user).results)
        for (OpId u : readers(r)) out.push_back(u);
      continue;
    }
    OpId at = user;
    while (f_.op(at).parent != block_) at = f_.block(f_.op(at).parent).parent;
    out.push_back(at);
  }
  return out;
}

/// Whether a loop of this block begins with the argument, which it does not read otherwise, and ends with the tile.
bool BlockPlanner::continues(OpId loop, ValueId argument, ValueId tile) const {
  const auto& op = f_.op(loop);
  if (op.kind != OpKind::for_ || std::count(op.operands.begin(), op.operands.end(), argument) != 1) return false;
  const auto result = std::find(op.results.begin(), op.results.end(), tile);
  if (result == op.results.end() || op.operands[static_cast<std::size_t>(result - op.results.begin()) + 3] != argument) return false;
  const auto& users = f_.value(argument).users;
  return std::all_of(users.begin(), users.end(),
                     [&](OpId user) { return user == loop || (f_.op(user).parent == block_ && !p_.is_alias(user)); });
}

/// Whether the tile that is yielded for an argument may overwrite it: after the first write, only the loop nest that writes may read the
/// old tile, and only at the same index; or a loop that begins with the argument writes first.
bool BlockPlanner::may_share(ValueId yielded, ValueId argument) const {
  if (p_.schedule(yielded) == Schedule::alias || p_.schedule(yielded) == Schedule::inlined || f_.defining_block(yielded) != block_)
    return false;
  const ClassId c = p_.class_of(yielded);
  const bool shared_with_other = c != kNoClass && [&] {
    for (ValueId a : f_.block(block_).args)
      if (!f_.type(a).is_scalar() && p_.class_of(a) == c) return true;
    return false;
  }();
  if (shared_with_other) return false;
  // The first write of the yielded value's buffer, and whether it is a loop nest.
  int first = -1;
  const std::vector<std::int64_t> extents = squeezed(f_.type(yielded));
  for (int s = 0; s < static_cast<int>(steps_.size()) && first < 0; ++s) {
    for (const Item& item : steps_[s].items) {
      if (item.op)
        for (ValueId r : f_.op(item.op).results)
          if (r == yielded || (c != kNoClass && p_.class_of(r) == c)) first = s;
      if (item.fill && c != kNoClass && p_.find(item.target) == c) first = s;
    }
    if (steps_[s].op)
      for (ValueId r : f_.op(steps_[s].op).results)
        if (r == yielded || (c != kNoClass && p_.class_of(r) == c)) first = s;
  }
  if (first < 0) return false;
  for (OpId reader : readers(argument)) {
    if (f_.kind(reader) == OpKind::reshape_) return false;  // the reshape's result would be read later
    const int at = p_.step_of_[reader.index];
    if (at < 0 || at > first) return false;
    if (at == first && continues(reader, argument, yielded)) continue;
    if (at == first && !steps_[first].is_loops) return false;
    if (at == first) {
      // The same index is guaranteed only if every operand on the way to the argument keeps its axes.
      if (f_.kind(reader) == OpKind::reduce_) return false;
      for (ValueId x : f_.op(reader).operands) {
        const Source s = p_.resolve(x);
        if (s.value != argument) continue;
        if (squeezed(f_.type(argument)) != steps_[first].extents) return false;
        const AxisMap axes = squeezed_axes(f_.type(x));
        std::int8_t next = 0;
        for (int i = 0; i < f_.type(argument).rank(); ++i)
          if (f_.type(argument).log2_extent(i) > 0 && (s.map[i] < 0 || axes[s.map[i]] != next++)) return false;
      }
    }
  }
  return true;
}

void BlockPlanner::yield_to_for(OpId id, OpId loop) {
  const auto& op = f_.op(id);
  const auto& results = f_.op(loop).results;
  Step step;
  step.op = id;
  struct Late {
    ValueId value;
    ClassId to;
  };
  std::vector<Late> inlined;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const ValueId v = op.operands[i];
    const ValueId argument = f_.arg(block_, static_cast<int>(i) + 1);
    if (f_.type(v).is_scalar() || v == argument) continue;
    const ClassId to = p_.class_of(results[i]);
    if (p_.class_of(v) == to) continue;  // a dot that accumulates in place
    const bool once = std::count(op.operands.begin(), op.operands.end(), v) == 1;
    if (once && may_share(v, argument)) {
      if (p_.has_buffer(v))
        p_.unite(p_.class_of(v), to);
      else
        p_.class_[v.index] = to;
      continue;
    }
    const Schedule schedule = p_.schedule(v);
    const bool in_argument = p_.has_buffer(v) && std::any_of(results.begin(), results.end(), [&](ValueId r) {
                               return !f_.type(r).is_scalar() && p_.class_of(r) == p_.class_of(v);
                             });
    if (schedule == Schedule::inlined) {
      inlined.push_back({v, to});
    } else if (schedule == Schedule::alias || in_argument) {
      // The source is, or depends on, the buffer of an argument that another yield overwrites first: copy it through a third buffer.
      const ClassId between = p_.new_class(p_.class_bytes(to));
      fill(v, between);
      step.copies.push_back({between, to});
    } else {
      step.copies.push_back({p_.ensure_class(v), to});
    }
  }
  for (const Late& each : inlined) fill(each.value, each.to);
  p_.step_of_[id.index] = append(std::move(step));
}

}  // namespace tilewright::backend::host
