// Limits of accesses. They are applied when the user's function is traced as a whole: in the order of its ops, each value gets the
// conditions of the values that it is computed from, and each access gets those of its operands as a mask.
#include <algorithm>
#include <exception>
#include <unordered_map>
#include <vector>

#include "frontend/emit.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"
#include "tilewright/ops/memory.h"

namespace tilewright::detail {

namespace {

using ir::AttrName;
using ir::OpId;
using ir::OpKind;
using ir::ValueId;

/// Tiles of bool that broadcast to the shape of a value: an element counts where all of them hold.
using Conditions = std::vector<ValueId>;

class LimitWalk {
 public:
  /// Conditions are built in front of this op, which what they are made of dominates.
  LimitWalk(ir::Function& f, OpId first) : f_(f), b_(f), first_(first) {
    b_.before(first);
    b_.set_loc(f.op(first).loc);
  }

  void limit(ValueId v, ValueId condition) { add(v, {condition}); }

  /// This op and those behind it in its block.
  void run() { visit_from(first_); }

 private:
  const Conditions& of(ValueId v) const {
    static const Conditions kNone;
    const auto known = conditions_.find(v.index);
    return known == conditions_.end() ? kNone : known->second;
  }
  void add(ValueId v, const Conditions& more) {
    if (more.empty()) return;
    Conditions& all = conditions_[v.index];
    for (ValueId c : more)
      if (std::find(all.begin(), all.end(), c) == all.end()) all.push_back(c);
  }
  std::vector<std::int64_t> shape_of(ValueId v) const { return f_.type(v).shape(); }

  void visit_from(OpId first) {
    for (OpId id = first; id; id = f_.op(id).next) visit(id);
  }

  void visit(OpId id) {
    const OpKind kind = f_.kind(id);
    if (ir::mask_index(kind)) return visit_access(id);
    if (kind == OpKind::for_ || kind == OpKind::while_ || kind == OpKind::if_) return visit_control(id);
    const auto& operands = f_.op(id).operands;
    if (f_.op(id).results.empty() || std::all_of(operands.begin(), operands.end(), [&](ValueId v) { return of(v).empty(); })) return;
    if (ir::info(kind).has(ir::kElementwise)) {
      for (ValueId v : operands) add(f_.result(id), of(v));
    } else {
      visit_shape(id);
    }
  }

  void visit_access(OpId id) {
    Conditions all;
    for (ValueId v : f_.op(id).operands)
      for (ValueId c : of(v))
        if (std::find(all.begin(), all.end(), c) == all.end()) all.push_back(c);
    if (all.empty()) return;
    for (ValueId r : f_.op(id).results) add(r, all);
    const std::vector<std::int64_t> shape = shape_of(f_.operand(id, 0));
    ValueId mask = ir::mask_of(f_, id);
    ir::Builder b(f_);
    b.before(id);
    b.set_loc(f_.op(id).loc);
    const int index = *ir::mask_index(f_.kind(id));
    const bool is_masked = mask.valid();
    for (ValueId c : all) {
      const ValueId inside = b.broadcast(c, shape);
      mask = mask ? b.binary(OpKind::bit_and_, mask, inside) : inside;
    }
    is_masked ? f_.set_operand(id, index, mask) : f_.add_operand(id, mask);
  }

  void visit_control(OpId id) {
    const ir::OpData& op = f_.op(id);
    const std::size_t first_init = op.kind == OpKind::for_ ? 3 : 0;
    if (op.kind != OpKind::if_) {
      // What a loop carries keeps the conditions of what it starts with.
      for (std::size_t i = first_init; i < op.operands.size(); ++i) {
        const std::size_t number = i - first_init + (op.kind == OpKind::for_ ? 1 : 0);
        for (ir::BlockId region : op.regions) add(f_.block(region).args[number], of(op.operands[i]));
        add(op.results[i - first_init], of(op.operands[i]));
      }
    }
    const bool is_while = op.kind == OpKind::while_;
    const std::vector<ir::BlockId> regions(op.regions.begin(), op.regions.end());
    for (ir::BlockId region : regions) visit_from(f_.block(region).first);
    if (is_while) return;
    for (ir::BlockId region : f_.op(id).regions) {
      const auto& yielded = f_.op(f_.terminator(region)).operands;
      for (std::size_t i = 0; i < yielded.size(); ++i) add(f_.op(id).results[i], of(yielded[i]));
    }
  }

  /// Whether the condition is the same all along an axis.
  bool is_constant_along(ValueId condition, std::int64_t axis) const { return f_.type(condition).extent(static_cast<int>(axis)) == 1; }

  void visit_shape(OpId id) {
    const ir::OpData& op = f_.op(id);
    const ValueId x = op.operands[0];
    const std::vector<std::int64_t> from = shape_of(x), to = shape_of(op.results[0]);
    switch (op.kind) {
      case OpKind::broadcast_:
      case OpKind::multiple_of_:
      case OpKind::max_contiguous_: return add(op.results[0], of(x));
      case OpKind::permute_: {
        const std::vector<std::int64_t> axes = f_.attr_list(id, AttrName::axes);
        for (ValueId c : Conditions(of(x))) add(f_.op(id).results[0], {b_.permute(c, axes)});
        return;
      }
      case OpKind::flip_:
        for (ValueId c : Conditions(of(x)))
          add(f_.op(id).results[0],
              {is_constant_along(c, f_.attr(id, AttrName::axis)) ? c
                                                                 : f_.result(b_.create(OpKind::flip_, std::span(&c, 1), f_.op(id).attrs))});
        return;
      case OpKind::reshape_:
        for (ValueId c : Conditions(of(x))) add(f_.op(id).results[0], {reshaped(c, from, to)});
        return;
      case OpKind::join_: {
        Conditions joined;
        for (ValueId v : op.operands)
          for (ValueId c : of(v)) joined.push_back(c);
        for (ValueId c : joined) {
          std::vector<std::int64_t> shape = shape_of(c);
          shape.push_back(1);
          add(f_.op(id).results[0], {b_.reshape(c, shape)});
        }
        return;
      }
      case OpKind::split_:
        for (ValueId c : Conditions(of(x))) {
          std::vector<std::int64_t> shape = shape_of(c);
          if (shape.back() == 1) {
            shape.pop_back();
            const ValueId both = b_.reshape(c, shape);
            for (ValueId r : f_.op(id).results) add(r, {both});
          } else {
            const OpId halves = b_.create(OpKind::split_, std::span(&c, 1));
            for (int i : {0, 1}) add(f_.op(id).results[static_cast<std::size_t>(i)], {f_.result(halves, i)});
          }
        }
        return;
      case OpKind::gather_: {
        add(op.results[0], of(op.operands[1]));
        for (ValueId c : Conditions(of(x)))
          if (is_constant_along(c, f_.attr(id, AttrName::axis))) add(f_.op(id).results[0], {c});
        return;
      }
      case OpKind::scan_:
      case OpKind::sort_:
        for (std::size_t i = 0; i < op.results.size() && i < op.operands.size(); ++i)
          for (ValueId c : Conditions(of(op.operands[i])))
            if (is_constant_along(c, f_.attr(id, AttrName::axis))) add(op.results[i], {c});
        return;
      case OpKind::reduce_: return visit_reduce(id);
      case OpKind::dot_: {
        // Rows of a and columns of b; along what is summed they count for nothing.
        const std::int64_t rank = static_cast<std::int64_t>(from.size());
        add(op.results[0], of(op.operands[2]));
        for (ValueId c : of(x))
          if (is_constant_along(c, rank - 1)) add(op.results[0], {c});
        for (ValueId c : of(op.operands[1]))
          if (is_constant_along(c, rank - 2)) add(op.results[0], {c});
        return;
      }
      default: return;  // Of ops that mix elements no single one is outside.
    }
  }

  void visit_reduce(OpId id) {
    const std::int64_t axis = f_.attr(id, AttrName::axis);
    Conditions kept;
    for (ValueId v : f_.op(id).operands)
      for (ValueId c : of(v))
        if (is_constant_along(c, axis)) kept.push_back(c);
    for (ValueId c : kept) {
      std::vector<std::int64_t> shape = shape_of(c);
      shape.erase(shape.begin() + axis);
      const ValueId without = b_.reshape(c, shape);
      for (ValueId r : std::vector<ValueId>(f_.op(id).results)) add(r, {without});
    }
  }

  /// A condition on elements of a tile, for the tile in another shape.
  ValueId reshaped(ValueId condition, const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& to) {
    std::vector<std::int64_t> shape(to.size(), 1);
    std::size_t at = 0;
    bool has_same_axes = true;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] == 1) continue;
      while (at < to.size() && to[at] == 1) ++at;
      has_same_axes = has_same_axes && at < to.size() && to[at] == from[i];
      if (!has_same_axes) break;
      shape[at++] = f_.type(condition).extent(static_cast<int>(i));
    }
    return has_same_axes ? b_.reshape(condition, shape) : b_.reshape(b_.broadcast(condition, from), to);
  }

  ir::Function& f_;
  ir::Builder b_;
  const OpId first_;
  std::unordered_map<std::uint32_t, Conditions> conditions_;  // by value
};

}  // namespace

AccessLimit::AccessLimit() : exceptions_(std::uncaught_exceptions()) { Trace::current("AccessLimit", Here::current()); }

void AccessLimit::add(const Handle& tile, const Bool& inside) {
  Emit e("AccessLimit", Here::current());
  limits_.push_back({e.value(tile, "tile").index, e.value(inside, "inside").index});
  last_ = e.trace().function().block(e.trace().block()).last.index;
}

AccessLimit::~AccessLimit() noexcept(false) {
  Trace* const trace = Trace::active();
  if (trace == nullptr || trace->broken() || std::uncaught_exceptions() > exceptions_ || limits_.empty()) return;
  ir::Function& f = trace->function();
  const OpId first = f.op(OpId{last_}).next;
  if (!first) return;
  LimitWalk walk(f, first);
  for (const Limit& l : limits_) walk.limit({l.tile}, {l.inside});
  walk.run();
}

}  // namespace tilewright::detail
