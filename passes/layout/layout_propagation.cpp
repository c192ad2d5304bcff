// The forward walk of layout propagation. It is repeated in loops until all carried values are resolved.
#include "passes/layout/layout_propagation.h"

#include <algorithm>
#include <bit>

#include "tileir/diagnostics.h"
#include "tileir/layout/layout_builders.h"
#include "tileir/layout_rules.h"
#include "tileir/op_kind.h"
#include "tileir/target/gpu_layouts.h"
#include "tileir/target/mma_layouts.h"

namespace tilewright::passes {

LayoutPropagation::LayoutPropagation(ir::Function& f, const RematerializableValues& rematerializable, const Coalescing& coalescing,
                                     ConversionCosts& costs, int log2_warps)
    : f_(f),
      rematerializable_(rematerializable),
      coalescing_(coalescing),
      costs_(costs),
      log2_warps_(log2_warps),
      values_(f.value_capacity()),
      operand_layouts_(f.op_capacity()) {
  propagate_block(f.body());
}

LayoutId LayoutPropagation::default_layout(ValueId v) {
  return !rematerializable_(v) && values_[v.index] ? values_[v.index] : f_.add_layout(coalescing_.preferred(v));
}

/// Whether a tile's layout is unknown until a loop is resolved.
bool LayoutPropagation::is_unresolved(ValueId v) const { return !f_.type(v).is_scalar() && !rematerializable_(v) && !values_[v.index]; }

void LayoutPropagation::propagate_block(BlockId b) {
  for (OpId id : f_.ops(b)) propagate(id);
}

void LayoutPropagation::propagate(OpId id) {
  const ir::OpData& op = f_.op(id);
  switch (op.kind) {
    case OpKind::for_: return propagate_for(id);
    case OpKind::if_: return propagate_if(id);
    case OpKind::while_: return propagate_while(id);
    default: break;
  }
  if (ir::info(op.kind).has(ir::kTerminator)) return;
  const auto is_tile = [&](ValueId v) { return !f_.type(v).is_scalar(); };
  const bool takes_tiles = std::any_of(op.operands.begin(), op.operands.end(), is_tile);
  if (!takes_tiles && std::none_of(op.results.begin(), op.results.end(), is_tile)) return;
  if (op.results.size() == 1 && is_tile(op.results[0]) && rematerializable_(op.results[0])) return;
  switch (ir::layout_rule(op.kind)) {
    case ir::LayoutRule::same_layout: return propagate_same_layout(id);
    case ir::LayoutRule::infer_result: return propagate_infer_result(id);
    case ir::LayoutRule::like_last_operand:
    case ir::LayoutRule::same_operand_layout:
    case ir::LayoutRule::any_layout: return propagate_any_layout(id);
    case ir::LayoutRule::matrix: return propagate_matrix(id);
    case ir::LayoutRule::infer_operand: TW_UNREACHABLE("a broadcast tile is rematerialisable");
  }
}

void LayoutPropagation::set_results(OpId id, LayoutId layout) {
  for (ValueId v : f_.op(id).results)
    if (!f_.type(v).is_scalar()) set(v, layout);
}

LayoutId LayoutPropagation::cheapest(OpId id, std::span<const ValueId> operands, std::span<const LayoutId> others, ValueId fallback) {
  std::vector<LayoutId> candidates(others.begin(), others.end());
  std::vector<ValueId> placed;
  bool unresolved = false;
  for (ValueId v : operands) {
    if (f_.type(v).is_scalar() || rematerializable_(v)) continue;
    if (is_unresolved(v)) {
      unresolved = true;
      continue;
    }
    placed.push_back(v);
    if (std::find(candidates.begin(), candidates.end(), values_[v.index]) == candidates.end()) candidates.push_back(values_[v.index]);
  }
  if (candidates.empty()) return unresolved ? LayoutId{} : f_.add_layout(coalescing_.preferred(fallback));
  if (candidates.size() == 1) return candidates[0];
  const Coalescing::Access* access = coalescing_.access(id);
  LayoutId best;
  int least = INT32_MAX;
  for (LayoutId c : candidates) {
    int cost = access ? access_cost(access->info, f_.layout(c)) : 0;
    for (ValueId v : placed) cost += costs_(values_[v.index], c, f_.type(v));
    if (cost < least) least = cost, best = c;
  }
  return best;
}

/// The layout in which the op runs if `operand` is the cheapest layout for its operands.
LayoutId LayoutPropagation::working(OpId id, LayoutId operand) {
  if (!operand || ir::info(f_.kind(id)).has(ir::kElementwise)) return operand;
  return f_.add_layout(ir::working_layout(f_, id, LinearLayout(f_.layout(operand)), log2_warps_));
}

void LayoutPropagation::propagate_same_layout(OpId id) {
  const ir::OpData& op = f_.op(id);
  std::vector<LayoutId> own;
  if (const Coalescing::Access* access = coalescing_.access(id)) {
    own.push_back(f_.add_layout(access->group_layout));
    if (access->weight == 0) {  // an unlikely branch must not determine layouts outside of it
      operand_layouts_[id.index] = own[0];
      return set_results(id, own[0]);
    }
    // Users of a loaded value expect the group layout, so a load in its solo layout costs a conversion.
    const bool is_load = op.kind == OpKind::load_;
    const int here = access_cost(access->info, access->group_layout), solo = access_cost(access->info, access->solo_layout);
    const bool pays =
        solo < here &&
        (!is_load ||
         solo + conversion_cost(access->solo_layout, access->group_layout, access->info.pointer.pointee().element_bytes()) < here);
    if (pays) own.push_back(f_.add_layout(access->solo_layout));
  }
  const ValueId some_tile = op.results.empty() ? op.operands[0] : op.results[0];
  operand_layouts_[id.index] = working(id, cheapest(id, op.operands, own, some_tile));
  set_results(id, operand_layouts_[id.index]);
}

void LayoutPropagation::propagate_infer_result(OpId id) {
  const ir::OpData& op = f_.op(id);
  const ValueId x = op.operands[0], y = op.results[0];
  if (f_.type(x).is_scalar()) return set_results(id, f_.add_layout(coalescing_.preferred(y)));
  const LayoutId from = working(id, cheapest(id, op.operands, {}, x));
  operand_layouts_[id.index] = from;
  if (!from) return set_results(id, {});
  if (f_.type(y).is_scalar()) {
    // A scalar result is in every thread, so each thread must hold both halves.
    if (op.kind == OpKind::split_)
      operand_layouts_[id.index] = f_.add_layout(ir::replicated_layout(ir::log2_extents(f_.type(x)), log2_warps_));
    return;
  }
  std::optional<LinearLayout> to = ir::result_layout(f_, id, f_.layout(from));
  if (!to) {
    to = coalescing_.preferred(y);
    operand_layouts_[id.index] = f_.add_layout(*ir::operand_layout(f_, id, *to));
  }
  set_results(id, f_.add_layout(*to));
}

bool LayoutPropagation::uses_operand_layout(const ir::Function& f, OpId id, int i) {
  const ir::OpData& op = f.op(id);
  const ValueId v = op.operands[static_cast<std::size_t>(i)];
  if (f.type(v).is_scalar() || ir::info(op.kind).family == ir::Family::control) return false;
  switch (ir::layout_rule(op.kind)) {
    case ir::LayoutRule::like_last_operand: return i + 1 == static_cast<int>(op.operands.size());
    case ir::LayoutRule::same_operand_layout: return f.type(v).same_shape(f.type(op.operands[0]));
    case ir::LayoutRule::any_layout: return false;
    case ir::LayoutRule::matrix: return i == 2 || !ir::reads_from_shared(f, id, i);
    default: return true;
  }
}

LayoutId LayoutPropagation::operand_layout(OpId id, int i) {
  if (ir::layout_rule(f_.kind(id)) != ir::LayoutRule::matrix || i == 2) return operand_layouts_[id.index];
  const ir::MmaLayouts layouts = ir::mma_layouts(f_, id);
  return f_.add_layout(i == 0 ? layouts.a : layouts.b);
}

void LayoutPropagation::propagate_matrix(OpId id) {
  operand_layouts_[id.index] = f_.add_layout(ir::mma_layouts(f_, id).acc);
  set_results(id, operand_layouts_[id.index]);
}

void LayoutPropagation::propagate_any_layout(OpId id) {
  const ir::OpData& op = f_.op(id);
  std::vector<ValueId> alike;
  for (int i = 0; i < static_cast<int>(op.operands.size()); ++i)
    if (uses_operand_layout(f_, id, i)) alike.push_back(op.operands[static_cast<std::size_t>(i)]);
  if (!alike.empty()) operand_layouts_[id.index] = cheapest(id, alike, {}, alike[0]);
  const bool is_linalg = ir::info(op.kind).family == Family::linalg;
  if (ir::layout_rule(op.kind) == ir::LayoutRule::like_last_operand && !is_linalg) return set_results(id, operand_layouts_[id.index]);
  for (ValueId v : op.results)
    if (!f_.type(v).is_scalar())
      set(v, f_.add_layout(op.kind == OpKind::dot_ ? ir::dot_layout(ir::log2_extents(f_.type(v)), log2_warps_) : coalescing_.preferred(v)));
  if (is_linalg) operand_layouts_[id.index] = values_[op.results[0].index];
}

// ---- control flow ----

bool LayoutPropagation::resolve(std::span<const ValueId> variables, std::span<const ValueId> from, bool one_is_enough) {
  bool resolved = false;
  for (std::size_t k = 0; k < variables.size(); ++k) {
    if (!is_unresolved(variables[k]) || f_.type(from[k]).is_scalar() || rematerializable_(from[k]) || !values_[from[k].index]) continue;
    set(variables[k], values_[from[k].index]);
    resolved = true;
    if (one_is_enough) break;
  }
  return resolved;
}

void LayoutPropagation::propagate_for(OpId id) {
  const BlockId body = f_.region(id);
  const auto args = std::span(f_.block(body).args).subspan(1);
  const auto init = std::span(f_.op(id).operands).subspan(3);
  const auto next = std::span(f_.op(f_.terminator(body)).operands);
  const auto resolve_from_rematerializable = [&] {
    for (std::size_t k = 0; k < args.size(); ++k)
      if (is_unresolved(args[k]) && rematerializable_(init[k])) {
        set(args[k], f_.add_layout(coalescing_.preferred(args[k])));
        return true;
      }
    return false;
  };
  do propagate_block(body);
  while (resolve(args, next, false) || resolve(args, init, true) || resolve_from_rematerializable());
  for (std::size_t k = 0; k < args.size(); ++k) set(f_.result(id, static_cast<int>(k)), values_[args[k].index]);
}

void LayoutPropagation::propagate_if(OpId id) {
  for (BlockId b : f_.op(id).regions) propagate_block(b);
  for (int k = 0; k < static_cast<int>(f_.op(id).results.size()); ++k) {
    const ValueId r = f_.result(id, k);
    if (f_.type(r).is_scalar()) continue;
    const ValueId ends[] = {f_.operand(f_.terminator(f_.region(id, 0)), k), f_.operand(f_.terminator(f_.region(id, 1)), k)};
    set(r, cheapest(id, ends, {}, r));
  }
}

void LayoutPropagation::propagate_while(OpId id) {
  const BlockId before = f_.region(id, 0), after = f_.region(id, 1);
  const auto carried = std::span(f_.block(before).args), forwarded = std::span(f_.block(after).args);
  const auto init = std::span(f_.op(id).operands), ends = std::span(f_.op(f_.terminator(before)).operands).subspan(1);
  const auto next = std::span(f_.op(f_.terminator(after)).operands);
  const auto resolve_from_rematerializable = [&](std::span<const ValueId> variables, std::span<const ValueId> from) {
    for (std::size_t k = 0; k < variables.size(); ++k)
      if (is_unresolved(variables[k]) && rematerializable_(from[k])) {
        set(variables[k], f_.add_layout(coalescing_.preferred(variables[k])));
        return true;
      }
    return false;
  };
  do {
    propagate_block(before);
    resolve(forwarded, ends, false);
    resolve_from_rematerializable(forwarded, ends);
    propagate_block(after);
  } while (resolve(carried, next, false) || resolve(carried, init, true) || resolve_from_rematerializable(carried, init) ||
           resolve_from_rematerializable(forwarded, ends) || resolve(forwarded, ends, true));
  for (std::size_t k = 0; k < forwarded.size(); ++k) set(f_.result(id, static_cast<int>(k)), values_[forwarded[k].index]);
}

}  // namespace tilewright::passes
