// Applies access limits after the user's function has been traced: each value gets the conditions of the values that it is computed from, and
// each access gets the conditions of its operands as a mask.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "frontend/trace/emit.h"
#include "tileir/memory_ops.h"
#include "tileir/op_info.h"
#include "tileir/op_kind.h"
#include "tilewright/ops/memory.h"

namespace tilewright::detail {

namespace {

using ir::AttrName;
using ir::OpId;
using ir::OpKind;
using ir::ValueId;

/// Tiles of bool that broadcast to the shape of a value. An element is valid if all of them are true.
using Conditions = std::vector<ValueId>;

/// Whether element i of each result is computed from elements i of the operands.
bool is_element_by_element(OpKind kind) {
  return ir::info(kind).has(ir::kElementwise) || ir::mask_index(kind) || kind == OpKind::inline_ptx_;
}

/// The operand of an access that is its mask; also the mask of a histogram, which excludes elements from the count.
std::optional<int> limited_by(OpKind kind) { return kind == OpKind::histogram_ ? 1 : ir::mask_index(kind); }

class LimitWalk {
 public:
  LimitWalk(ir::Function& f, OpId first) : f_(f), b_(f), first_(first) {}

  void limit(ValueId v, ValueId condition) { add(v, condition); }

  /// Handles this op and the ops after it in its block. First follows conditions until nothing changes, since loops carry them back; then
  /// applies them.
  void run() {
    do {
      is_changed_ = false;
      follow_from(first_);
    } while (is_changed_);
    apply_from(first_);
  }

 private:
  const Conditions& of(ValueId v) const {
    static const Conditions kNone;
    const auto known = conditions_.find(v.index);
    return known == conditions_.end() ? kNone : known->second;
  }
  void add(ValueId v, ValueId condition) {
    Conditions& all = conditions_[v.index];
    if (std::find(all.begin(), all.end(), condition) != all.end()) return;
    all.push_back(condition);
    is_changed_ = true;
  }
  void add(ValueId v, const Conditions& more) {
    for (ValueId c : Conditions(more)) add(v, c);
  }
  Conditions of_operands(OpId id) const {
    Conditions all;
    for (ValueId v : f_.op(id).operands)
      for (ValueId c : of(v))
        if (std::find(all.begin(), all.end(), c) == all.end()) all.push_back(c);
    return all;
  }
  std::vector<std::int64_t> shape_of(ValueId v) const { return f_.type(v).shape(); }
  void before(OpId id) {
    b_.before(id);
    b_.set_loc(f_.op(id).loc);
  }

  /// The op of the outermost block that contains this op: conditions of values that leave a loop are computed before the loop.
  OpId outermost(OpId id) const {
    while (f_.op(id).parent != f_.op(first_).parent) id = f_.block(f_.op(id).parent).parent;
    return id;
  }
  /// The result of an op on conditions, built only once.
  template <class Build>
  Conditions derived(OpId id, const Conditions& from, Build build) {
    std::vector<std::uint32_t> key{id.index};
    for (ValueId c : from) key.push_back(c.index);
    const auto [at, is_new] = derived_.try_emplace(std::move(key));
    if (is_new) {
      before(outermost(id));
      at->second = build();
    }
    return at->second;
  }
  template <class Build>
  void derive(OpId id, ValueId condition, Build build) {
    add(f_.op(id).results[0], derived(id, {condition}, [&] { return Conditions{build()}; }));
  }

  void follow_from(OpId first) {
    for (OpId id = first; id; id = f_.op(id).next) follow(id);
  }
  void follow(OpId id) {
    const OpKind kind = f_.kind(id);
    if (kind == OpKind::for_ || kind == OpKind::while_ || kind == OpKind::if_) return follow_control(id);
    if (f_.op(id).results.empty() || of_operands(id).empty()) return;
    if (is_element_by_element(kind))
      for (ValueId r : std::vector<ValueId>(f_.op(id).results)) add(r, of_operands(id));
    else
      follow_shape(id);
  }

  // A variable that a loop changes has the conditions of all values that it may hold in any iteration.
  void follow_control(OpId id) {
    const std::vector<ir::BlockId> regions(f_.op(id).regions.begin(), f_.op(id).regions.end());
    const auto flow = [&](ValueId from, ValueId to) { add(to, of(from)); };
    const auto yielded = [&](ir::BlockId region, std::size_t i) { return f_.op(f_.terminator(region)).operands[i]; };
    const auto args = [&](ir::BlockId region, std::size_t i) { return f_.block(region).args[i]; };
    const std::size_t results = f_.op(id).results.size();
    switch (f_.kind(id)) {
      case OpKind::for_:
        for (std::size_t i = 0; i < results; ++i) flow(f_.op(id).operands[i + 3], args(regions[0], i + 1));
        follow_from(f_.block(regions[0]).first);
        for (std::size_t i = 0; i < results; ++i) flow(yielded(regions[0], i), args(regions[0], i + 1));
        break;
      case OpKind::while_:
        for (std::size_t i = 0; i < f_.op(id).operands.size(); ++i) flow(f_.op(id).operands[i], args(regions[0], i));
        follow_from(f_.block(regions[0]).first);
        for (std::size_t i = 0; i < results; ++i) flow(yielded(regions[0], i + 1), args(regions[1], i));
        follow_from(f_.block(regions[1]).first);
        for (std::size_t i = 0; i < f_.op(id).operands.size(); ++i) flow(yielded(regions[1], i), args(regions[0], i));
        break;
      default:
        for (ir::BlockId region : regions) follow_from(f_.block(region).first);
        break;
    }
    for (std::size_t i = 0; i < results; ++i) {
      const ValueId result = f_.op(id).results[i];
      if (f_.kind(id) == OpKind::for_) flow(args(regions[0], i + 1), result);
      if (f_.kind(id) == OpKind::while_) flow(yielded(regions[0], i + 1), result);
      if (f_.kind(id) == OpKind::if_)
        for (ir::BlockId region : regions) flow(yielded(region, i), result);
    }
  }

  void apply_from(OpId first) {
    for (OpId id = first; id; id = f_.op(id).next) {
      if (limited_by(f_.kind(id))) apply(id);
      if (f_.kind(id) == OpKind::device_assert_) apply_to_assertion(id);
      for (ir::BlockId region : std::vector<ir::BlockId>(f_.op(id).regions.begin(), f_.op(id).regions.end()))
        apply_from(f_.block(region).first);
    }
  }
  void apply(OpId id) {
    const Conditions all = of_operands(id);
    if (all.empty()) return;
    const std::vector<std::int64_t> shape = shape_of(f_.operand(id, 0));
    const int index = *limited_by(f_.kind(id));
    const bool is_masked = f_.op(id).operands.size() > static_cast<std::size_t>(index);
    ValueId mask = is_masked ? f_.operand(id, index) : ValueId{};
    before(id);
    for (ValueId c : all) {
      const ValueId inside = b_.broadcast(c, shape);
      mask = mask ? b_.binary(OpKind::bit_and_, mask, inside) : inside;
    }
    is_masked ? f_.set_operand(id, index, mask) : f_.add_operand(id, mask);
  }

  /// The assertion need not hold for elements past the end.
  void apply_to_assertion(OpId id) {
    const ValueId asserted = f_.operand(id, 0);
    if (of(asserted).empty()) return;
    before(id);
    const ValueId outside = b_.unary(OpKind::bit_not_, all_of(asserted));
    f_.set_operand(id, 0, b_.binary(OpKind::bit_or_, asserted, outside));
  }

  /// Whether the condition is constant along an axis.
  bool is_constant_along(ValueId condition, std::int64_t axis) const { return f_.type(condition).extent(static_cast<int>(axis)) == 1; }

  void follow_shape(OpId id) {
    const ir::OpData& op = f_.op(id);
    const ValueId x = op.operands[0], result = op.results[0];
    const std::vector<std::int64_t> from = shape_of(x), to = shape_of(result);
    const Conditions conditions = of(x);
    switch (op.kind) {
      case OpKind::broadcast_:
      case OpKind::multiple_of_:
      case OpKind::max_contiguous_: return add(result, conditions);
      case OpKind::permute_: {
        const std::vector<std::int64_t> axes = f_.attr_list(id, AttrName::axes);
        for (ValueId c : conditions) derive(id, c, [&] { return b_.permute(c, axes); });
        return;
      }
      case OpKind::flip_:
        for (ValueId c : conditions)
          derive(id, c, [&] {
            if (is_constant_along(c, f_.attr(id, AttrName::axis))) return c;
            return f_.result(b_.create(OpKind::flip_, std::span(&c, 1), f_.op(id).attrs));
          });
        return;
      case OpKind::reshape_:
        for (ValueId c : conditions) derive(id, c, [&] { return reshaped(c, from, to); });
        return;
      case OpKind::join_:
      case OpKind::cat_: return follow_pair(id);
      case OpKind::split_:
        for (ValueId c : conditions) {
          const Conditions halves = derived(id, {c}, [&] { return split(c); });
          for (std::size_t i : {0, 1}) add(f_.op(id).results[i], halves[i]);
        }
        return;
      case OpKind::gather_: {
        const ValueId index = op.operands[1];
        add(result, of(index));
        for (ValueId c : conditions)
          if (is_constant_along(c, f_.attr(id, AttrName::axis)))
            add(result, c);
          else
            derive(id, c, [&] { return gathered(id, c); });
        return;
      }
      case OpKind::scan_:
      case OpKind::sort_: {
        const std::int64_t axis = op.kind == OpKind::scan_ ? f_.attr(id, AttrName::axis) : static_cast<std::int64_t>(from.size()) - 1;
        for (ValueId c : of_operands(id))
          if (is_constant_along(c, axis))
            for (ValueId r : std::vector<ValueId>(f_.op(id).results)) add(r, c);
        return;
      }
      case OpKind::reduce_: return follow_reduce(id);
      case OpKind::dot_:
      case OpKind::dot_scaled_: return follow_product(id);
      case OpKind::histogram_: return;  // its own mask excludes elements
      default:
        throw Error(f_.where(id), fmt::format("{}: elements past the end of an array are not followed through it", ir::text(op.kind)));
    }
  }

  // The rows of a and the columns of b; excluded elements along the summed axis do not count.
  void follow_product(OpId id) {
    const std::vector<ValueId> operands = f_.op(id).operands;
    const bool is_scaled = f_.kind(id) == OpKind::dot_scaled_;
    const ValueId result = f_.op(id).results[0];
    const auto rank = static_cast<std::int64_t>(f_.type(result).rank());
    const auto along = [&](ValueId v, std::int64_t summed) {
      Conditions kept = of(v);
      std::erase_if(kept, [&](ValueId c) { return !is_constant_along(c, summed); });
      return kept;
    };
    add(result, of(operands.back()));
    add(result, along(operands[0], rank - 1));
    add(result, along(operands[is_scaled ? 2 : 1], rank - 2));
    if (!is_scaled) return;
    // Scales have the shapes [M, K / 32] and [N, K / 32].
    add(result, along(operands[1], 1));
    for (ValueId c : along(operands[3], 1)) derive(id, c, [&] { return b_.permute(c, std::vector<std::int64_t>{1, 0}); });
  }

  /// For join and cat, each half keeps its own conditions.
  void follow_pair(OpId id) {
    const ValueId result = f_.op(id).results[0];
    const ValueId a = f_.operand(id, 0), c = f_.operand(id, 1);
    Conditions key = of(a);
    key.push_back(ValueId{});
    key.insert(key.end(), of(c).begin(), of(c).end());
    add(result, derived(id, key, [&] {
          const ValueId both[] = {all_of(a), all_of(c)};
          return Conditions{f_.result(b_.create(f_.kind(id), both, f_.op(id).attrs))};
        }));
  }
  /// All conditions of a tile as a single one in its shape.
  ValueId all_of(ValueId v) {
    ValueId all;
    for (ValueId c : of(v)) {
      const ValueId whole = b_.broadcast(c, shape_of(v));
      all = all ? b_.binary(OpKind::bit_and_, all, whole) : whole;
    }
    return all ? all : b_.constant(ir::Type(ir::Element::boolean, shape_of(v)), 1);
  }

  Conditions split(ValueId condition) {
    std::vector<std::int64_t> shape = shape_of(condition);
    if (shape.back() == 1) {
      shape.pop_back();
      const ValueId both = b_.reshape(condition, shape);
      return {both, both};
    }
    const OpId halves = b_.create(OpKind::split_, std::span(&condition, 1));
    return {f_.result(halves, 0), f_.result(halves, 1)};
  }

  /// The condition of the gathered elements. In a loop, the index does not exist yet where conditions are computed.
  ValueId gathered(OpId id, ValueId condition) {
    if (f_.op(id).parent != f_.op(first_).parent)
      throw Error(f_.where(id), "gather: takes elements of the tile's rows or columns inside of a loop or branch; do it outside of it");
    const ValueId operands[] = {b_.broadcast(condition, shape_of(f_.operand(id, 0))), f_.operand(id, 1)};
    return f_.result(b_.create(OpKind::gather_, operands, f_.op(id).attrs));
  }

  void follow_reduce(OpId id) {
    const std::int64_t axis = f_.attr(id, AttrName::axis);
    for (ValueId c : of_operands(id)) {
      if (!is_constant_along(c, axis)) continue;
      const Conditions without = derived(id, {c}, [&] {
        std::vector<std::int64_t> shape = shape_of(c);
        shape.erase(shape.begin() + axis);
        return Conditions{b_.reshape(c, shape)};
      });
      for (ValueId r : std::vector<ValueId>(f_.op(id).results)) add(r, without);
    }
  }

  /// A condition on the elements of a tile, for the tile in another shape.
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
  std::unordered_map<std::uint32_t, Conditions> conditions_;  // the conditions of each value
  std::map<std::vector<std::uint32_t>, Conditions> derived_;  // the results of each op on conditions, so that each is built once
  bool is_changed_ = false;
};

}  // namespace

AccessLimit::AccessLimit() { Trace::current("AccessLimit", Here::current()); }

void AccessLimit::add(const Handle& tile, const Bool& inside) {
  Emit e("AccessLimit", Here::current());
  limits_.push_back({e.value(tile, "tile").index, e.value(inside, "inside").index});
  last_ = e.trace().function().block(e.trace().block()).last.index;
}

void AccessLimit::apply() {
  Trace* const trace = Trace::active();
  if (trace == nullptr || trace->broken() || limits_.empty()) return;
  ir::Function& f = trace->function();
  const OpId first = f.op(OpId{last_}).next;
  if (!first) return;
  LimitWalk walk(f, first);
  for (const Limit& l : limits_) walk.limit({l.tile}, {l.inside});
  walk.run();
}

}  // namespace tilewright::detail
