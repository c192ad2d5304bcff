// The forward walk that chooses layouts, to a fixed point at loops.
#include "passes/layout/layout_choice.h"

#include <algorithm>
#include <bit>

#include "tileir/diagnostics.h"
#include "tileir/layout/layout_builders.h"
#include "tileir/layout_rules.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

using ir::BlockId;
using ir::LayoutId;
using ir::LinearLayout;
using ir::OpId;
using ir::OpKind;
using ir::ValueId;

LayoutChoice::LayoutChoice(ir::Function& f, const FreeValues& free, const Coalescing& coalescing, ConversionCosts& costs, int log2_warps)
    : f_(f),
      free_(free),
      coalescing_(coalescing),
      costs_(costs),
      log2_warps_(log2_warps),
      values_(f.value_capacity()),
      taken_(f.op_capacity()) {
  choose_block(f.body());
}

LayoutId LayoutChoice::natural(ValueId v) {
  return !free_(v) && values_[v.index] ? values_[v.index] : f_.add_layout(coalescing_.preferred(v));
}

/// A tile whose layout a loop has not settled yet.
bool LayoutChoice::is_open(ValueId v) const { return !f_.type(v).is_scalar() && !free_(v) && !values_[v.index]; }

void LayoutChoice::choose_block(BlockId b) {
  for (OpId id : f_.ops(b)) choose(id);
}

void LayoutChoice::choose(OpId id) {
  const ir::OpData& op = f_.op(id);
  switch (op.kind) {
    case OpKind::for_: return choose_for(id);
    case OpKind::if_: return choose_if(id);
    case OpKind::while_: return choose_while(id);
    default: break;
  }
  if (ir::info(op.kind).has(ir::kTerminator)) return;
  const auto is_tile = [&](ValueId v) { return !f_.type(v).is_scalar(); };
  const bool takes_tiles = std::any_of(op.operands.begin(), op.operands.end(), is_tile);
  if (!takes_tiles && std::none_of(op.results.begin(), op.results.end(), is_tile)) return;
  if (op.results.size() == 1 && is_tile(op.results[0]) && free_(op.results[0])) return;
  switch (ir::layout_rule(op.kind)) {
    case ir::LayoutRule::alike: return choose_alike(id);
    case ir::LayoutRule::follows: return choose_follows(id);
    case ir::LayoutRule::moves: return choose_moves(id);
    case ir::LayoutRule::expands: TW_UNREACHABLE("a broadcast tile is free");
  }
}

void LayoutChoice::set_results(OpId id, LayoutId layout) {
  for (ValueId v : f_.op(id).results)
    if (!f_.type(v).is_scalar()) set(v, layout);
}

LayoutId LayoutChoice::cheapest(OpId id, std::span<const ValueId> operands, std::span<const LayoutId> others, ValueId fallback) {
  std::vector<LayoutId> candidates(others.begin(), others.end());
  std::vector<ValueId> placed;
  bool open = false;
  for (ValueId v : operands) {
    if (f_.type(v).is_scalar() || free_(v)) continue;
    if (is_open(v)) {
      open = true;
      continue;
    }
    placed.push_back(v);
    if (std::find(candidates.begin(), candidates.end(), values_[v.index]) == candidates.end()) candidates.push_back(values_[v.index]);
  }
  if (candidates.empty()) return open ? LayoutId{} : f_.add_layout(coalescing_.preferred(fallback));
  if (candidates.size() == 1) return candidates[0];
  const Coalescing::Access* access = coalescing_.access(id);
  LayoutId best;
  int least = INT32_MAX;
  for (LayoutId c : candidates) {
    int cost = access ? access_cost(access->facts, f_.layout(c)) : 0;
    for (ValueId v : placed) cost += costs_(values_[v.index], c, f_.type(v));
    if (cost < least) least = cost, best = c;
  }
  return best;
}

/// Where the op can work whose operands are best had in this layout.
LayoutId LayoutChoice::working(OpId id, LayoutId operand) {
  if (!operand || ir::info(f_.kind(id)).has(ir::kElementwise)) return operand;
  return f_.add_layout(ir::working_layout(f_, id, LinearLayout(f_.layout(operand)), log2_warps_));
}

void LayoutChoice::choose_alike(OpId id) {
  const ir::OpData& op = f_.op(id);
  std::vector<LayoutId> own;
  if (const Coalescing::Access* access = coalescing_.access(id)) {
    own.push_back(f_.add_layout(access->shared));
    if (access->weight == 0) {  // addresses and values are there for the branch that is taken
      taken_[id.index] = own[0];
      return set_results(id, own[0]);
    }
    // What it loads goes where its group is: `alone` with a conversion was weighed there.
    const bool is_load = op.kind == OpKind::load_;
    const int here = access_cost(access->facts, access->shared), alone = access_cost(access->facts, access->alone);
    const bool pays =
        alone < here &&
        (!is_load || alone + conversion_cost(access->alone, access->shared, access->facts.pointer.pointee().element_bytes()) < here);
    if (pays) own.push_back(f_.add_layout(access->alone));
  }
  const ValueId some_tile = op.results.empty() ? op.operands[0] : op.results[0];
  taken_[id.index] = working(id, cheapest(id, op.operands, own, some_tile));
  set_results(id, taken_[id.index]);
}

void LayoutChoice::choose_follows(OpId id) {
  const ir::OpData& op = f_.op(id);
  const ValueId x = op.operands[0], y = op.results[0];
  if (f_.type(x).is_scalar()) return set_results(id, f_.add_layout(coalescing_.preferred(y)));
  const LayoutId from = working(id, cheapest(id, op.operands, {}, x));
  taken_[id.index] = from;
  if (!from) return set_results(id, {});
  if (f_.type(y).is_scalar()) {
    // Both halves in one thread, and in every thread.
    if (op.kind == OpKind::split_) taken_[id.index] = f_.add_layout(ir::replicated_layout(ir::log2_extents(f_.type(x)), log2_warps_));
    return;
  }
  std::optional<LinearLayout> to = ir::result_layout(f_, id, f_.layout(from));
  if (!to) {
    to = coalescing_.preferred(y);
    taken_[id.index] = f_.add_layout(*ir::operand_layout(f_, id, *to));
  }
  set_results(id, f_.add_layout(*to));
}

bool LayoutChoice::takes_alike(const ir::Function& f, OpId id, int i) {
  const ir::OpData& op = f.op(id);
  const ValueId v = op.operands[static_cast<std::size_t>(i)];
  if (f.type(v).is_scalar() || ir::info(op.kind).family == ir::Family::control) return false;
  switch (op.kind) {
    case OpKind::gather_:
    case OpKind::dot_:
    case OpKind::dot_scaled_: return i + 1 == static_cast<int>(op.operands.size());
    case OpKind::histogram_:
    case OpKind::device_assert_: return f.type(v).same_shape(f.type(op.operands[0]));
    default: return ir::layout_rule(op.kind) != ir::LayoutRule::moves;
  }
}

void LayoutChoice::choose_moves(OpId id) {
  const ir::OpData& op = f_.op(id);
  std::vector<ValueId> alike;
  for (int i = 0; i < static_cast<int>(op.operands.size()); ++i)
    if (takes_alike(f_, id, i)) alike.push_back(op.operands[static_cast<std::size_t>(i)]);
  if (!alike.empty()) taken_[id.index] = cheapest(id, alike, {}, alike[0]);
  if (op.kind == OpKind::gather_) return set_results(id, taken_[id.index]);
  for (ValueId v : op.results)
    if (!f_.type(v).is_scalar())
      set(v, f_.add_layout(op.kind == OpKind::dot_ ? ir::dot_layout(ir::log2_extents(f_.type(v)), log2_warps_) : coalescing_.preferred(v)));
  if (op.kind == OpKind::dot_ || op.kind == OpKind::dot_scaled_) taken_[id.index] = values_[op.results[0].index];
}

// ---- control flow ----

bool LayoutChoice::settle(std::span<const ValueId> variables, std::span<const ValueId> from, bool one_is_enough) {
  bool settled = false;
  for (std::size_t k = 0; k < variables.size(); ++k) {
    if (!is_open(variables[k]) || f_.type(from[k]).is_scalar() || free_(from[k]) || !values_[from[k].index]) continue;
    set(variables[k], values_[from[k].index]);
    settled = true;
    if (one_is_enough) break;
  }
  return settled;
}

void LayoutChoice::choose_for(OpId id) {
  const BlockId body = f_.region(id);
  const auto args = std::span(f_.block(body).args).subspan(1);
  const auto init = std::span(f_.op(id).operands).subspan(3);
  const auto next = std::span(f_.op(f_.terminator(body)).operands);
  const auto begins_free = [&] {
    for (std::size_t k = 0; k < args.size(); ++k)
      if (is_open(args[k]) && free_(init[k])) {
        set(args[k], f_.add_layout(coalescing_.preferred(args[k])));
        return true;
      }
    return false;
  };
  do choose_block(body);
  while (settle(args, next, false) || settle(args, init, true) || begins_free());
  for (std::size_t k = 0; k < args.size(); ++k) set(f_.result(id, static_cast<int>(k)), values_[args[k].index]);
}

void LayoutChoice::choose_if(OpId id) {
  for (BlockId b : f_.op(id).regions) choose_block(b);
  for (int k = 0; k < static_cast<int>(f_.op(id).results.size()); ++k) {
    const ValueId r = f_.result(id, k);
    if (f_.type(r).is_scalar()) continue;
    const ValueId ends[] = {f_.operand(f_.terminator(f_.region(id, 0)), k), f_.operand(f_.terminator(f_.region(id, 1)), k)};
    set(r, cheapest(id, ends, {}, r));
  }
}

void LayoutChoice::choose_while(OpId id) {
  const BlockId before = f_.region(id, 0), after = f_.region(id, 1);
  const auto carried = std::span(f_.block(before).args), forwarded = std::span(f_.block(after).args);
  const auto init = std::span(f_.op(id).operands), ends = std::span(f_.op(f_.terminator(before)).operands).subspan(1);
  const auto next = std::span(f_.op(f_.terminator(after)).operands);
  const auto begins_free = [&](std::span<const ValueId> variables, std::span<const ValueId> from) {
    for (std::size_t k = 0; k < variables.size(); ++k)
      if (is_open(variables[k]) && free_(from[k])) {
        set(variables[k], f_.add_layout(coalescing_.preferred(variables[k])));
        return true;
      }
    return false;
  };
  do {
    choose_block(before);
    settle(forwarded, ends, false);
    begins_free(forwarded, ends);
    choose_block(after);
  } while (settle(carried, next, false) || settle(carried, init, true) || begins_free(carried, init) || begins_free(forwarded, ends) ||
           settle(forwarded, ends, true));
  for (std::size_t k = 0; k < forwarded.size(); ++k) set(f_.result(id, static_cast<int>(k)), values_[forwarded[k].index]);
}

}  // namespace tilewright::passes
