// One recursion over operands decides what to recompute; a second one with the same decisions makes the ops.
#include "passes/layout/rematerializer.h"

#include <algorithm>

#include "passes/layout/rematerializable.h"
#include "tileir/layout_rules.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

ValueId Rematerializer::get(ValueId v, LayoutId layout, int depth) {
  if (f_.type(v).is_scalar() || f_.layout_id(v) == layout) return v;
  if (const ValueId made = known(v, layout)) return made;
  const ValueId made = !f_.layout_id(v)               ? compute_first(v, layout)
                       : recomputes(v, layout, depth) ? recompute(v, layout, depth)
                                                      : convert(v, layout);
  return made_[{v, layout}] = made;
}

bool Rematerializer::is_cheaper_than_conversion(ValueId v, LayoutId layout) {
  return known(v, layout) ? costs_(f_.layout_id(v), layout, f_.type(v)) > 0 : recomputes(v, layout, policy_.max_depth);
}

/// The tile that was already made for this layout, unless it was erased since.
ValueId Rematerializer::known(ValueId v, LayoutId layout) const {
  const auto at = made_.find({v, layout});
  return at == made_.end() || f_.erased(f_.value(at->second).op) ? ValueId{} : at->second;
}

// ---- decide ----

bool Rematerializer::recomputes(ValueId v, LayoutId layout, int depth) {
  if (!policy_.may_recompute(v)) return false;
  if (policy_.threshold == RematerializationPolicy::Threshold::always) return true;
  const int conversion = costs_(f_.layout_id(v), layout, f_.type(v));
  return cost_of_recomputation(v, layout, conversion, depth) < conversion;
}

/// The least cost of the tile under this layout, or a value of at least `limit` if the cost exceeds it.
int Rematerializer::cost(ValueId v, LayoutId layout, int limit, int depth) {
  if (f_.type(v).is_scalar() || f_.layout_id(v) == layout || known(v, layout)) return 0;
  const int conversion = costs_(f_.layout_id(v), layout, f_.type(v));
  return std::min(conversion, cost_of_recomputation(v, layout, std::min(conversion, limit), depth));
}

int Rematerializer::cost_of_recomputation(ValueId v, LayoutId layout, int limit, int depth) {
  if (depth == 0 || !policy_.may_recompute(v)) return limit;
  const OpId id = f_.value(v).op;
  int total = *recompute_cost(f_, id) * kInstructionCost * static_cast<int>(f_.layout(layout).size(HardwareDim::reg));
  for (ValueId x : operands(id)) {
    if (total >= limit) return limit;
    total += cost(x, operand_layout(id, x, layout), limit - total, depth - 1);
  }
  return total;
}

// ---- make ----

/// Computes a tile that has no layout yet: its op gets a layout, and a request for another layout gets a conversion.
ValueId Rematerializer::compute_first(ValueId v, LayoutId layout) {
  const OpId id = f_.value(v).op;
  const LayoutId first = policy_.first_layout(v, layout);
  original_operands_[id.index] = f_.op(id).operands;
  for (int i = 0; i < static_cast<int>(f_.op(id).operands.size()); ++i) {
    const ValueId x = f_.operand(id, i), made = get(x, operand_layout(id, x, first));
    if (made != x) rw_.set_operand(id, i, made);
  }
  f_.set_layout(v, first);
  return first == layout ? v : convert(v, layout);
}

ValueId Rematerializer::recompute(ValueId v, LayoutId layout, int depth) {
  const OpId id = f_.value(v).op;
  std::vector<ValueId> made = operands(id);
  for (ValueId& x : made) x = get(x, operand_layout(id, x, layout), depth - 1);
  return insert_behind(v, f_.kind(id), made, f_.op(id).attrs, layout);
}

ValueId Rematerializer::convert(ValueId v, LayoutId layout) {
  return insert_behind(v, OpKind::convert_layout_, std::span(&v, 1), {}, layout);
}

ValueId Rematerializer::insert_behind(ValueId v, OpKind kind, std::span<const ValueId> operands, std::vector<ir::Attr> attrs,
                                      LayoutId layout) {
  const OpId definer = f_.value(v).op;
  const BlockId block = f_.defining_block(v);
  const OpId next = definer ? f_.op(definer).next : f_.block(block).first;
  const ir::Loc loc = f_.op(definer ? definer : f_.block(block).parent).loc;
  const Type type = f_.type(v);
  const ValueId made = f_.result(f_.create_op(kind, loc, operands, std::span(&type, 1), std::move(attrs), block, next));
  f_.set_layout(made, layout);
  return made;
}

const std::vector<ValueId>& Rematerializer::operands(OpId id) const {
  const bool is_replaced = id.index < original_operands_.size() && !original_operands_[id.index].empty();
  return is_replaced ? original_operands_[id.index] : f_.op(id).operands;
}

LayoutId Rematerializer::operand_layout(OpId id, ValueId operand, LayoutId result) {
  if (f_.type(operand).is_scalar()) return {};
  if (ir::layout_rule(f_.kind(id)) == ir::LayoutRule::same_layout) return result;
  return f_.add_layout(*ir::operand_layout(f_, id, LinearLayout(f_.layout(result))));
}

}  // namespace tilewright::passes
