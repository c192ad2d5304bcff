// One walk in program order: a tile is rematerialisable if the operands of its op are rematerialisable.
#include "passes/layout/rematerializable.h"

#include <algorithm>

#include "tileir/op_kind.h"
#include "tileir/slices.h"

namespace tilewright::passes {

namespace {

/// Whether an op may be computed again, element by element on tiles of one shape.
bool is_elementwise(const ir::OpInfo& info) { return info.has(ir::kPure) && (info.has(ir::kElementwise) || info.family == Family::hint); }

/// The approximate number of instructions for one element of an element-wise op.
int element_cost(const Function& f, OpId id) {
  const Type t = f.type(f.operand(id, 0));
  const bool wide = t.element_bits() == 64;
  switch (f.kind(id)) {
    case OpKind::multiple_of_:
    case OpKind::max_contiguous_:
    case OpKind::bitcast_: return 0;
    case OpKind::div_:
    case OpKind::rem_:
    case OpKind::div_rn_:
      if (f.constant_bits(f.operand(id, 1))) return wide ? 10 : 5;
      return t.is_float() ? (wide ? 40 : 8) : (wide ? 80 : 20);
    case OpKind::mul_:
    case OpKind::umulhi_: return wide ? 4 : 1;
    case OpKind::sqrt_:
    case OpKind::rsqrt_:
    case OpKind::exp2_:
    case OpKind::log2_: return wide ? 60 : 4;
    case OpKind::exp_:
    case OpKind::log_:
    case OpKind::sin_:
    case OpKind::cos_:
    case OpKind::tan_:
    case OpKind::tanh_:
    case OpKind::erf_:
    case OpKind::exp10_:
    case OpKind::expm1_:
    case OpKind::log10_:
    case OpKind::log1p_:
    case OpKind::asin_:
    case OpKind::acos_:
    case OpKind::atan_:
    case OpKind::atan2_:
    case OpKind::sinh_:
    case OpKind::cosh_:
    case OpKind::cbrt_:
    case OpKind::hypot_:
    case OpKind::pow_: return wide ? 120 : 30;
    default: return wide ? 2 : 1;
  }
}

}  // namespace

std::optional<int> recompute_cost(const Function& f, OpId id) {
  switch (f.kind(id)) {
    case OpKind::constant_:
    case OpKind::arange_:
    case OpKind::broadcast_:
    case OpKind::reshape_:
    case OpKind::permute_: return 0;
    case OpKind::inline_ptx_: return std::nullopt;
    default: return is_elementwise(ir::info(f.kind(id))) ? std::optional(element_cost(f, id)) : std::nullopt;
  }
}

RematerializableValues::RematerializableValues(const Function& f) : f_(f), is_rematerializable_(f.value_capacity()) {
  f.walk([&](OpId id) {
    if (f.op(id).results.size() == 1 && !f.type(f.result(id)).is_scalar())
      is_rematerializable_[f.result(id).index] = is_rematerializable(id);
  });
}

bool RematerializableValues::is_rematerializable(OpId id) const {
  const ir::OpData& op = f_.op(id);
  if (op.kind == OpKind::broadcast_) return true;
  if (!std::all_of(op.operands.begin(), op.operands.end(), [&](ValueId v) { return f_.type(v).is_scalar() || (*this)(v); })) return false;
  return recompute_cost(f_, id) || op.kind == OpKind::inline_ptx_ ||
         (op.kind == OpKind::load_ && f_.attr(id, ir::AttrName::is_volatile) == 0 && is_only_broadcast(op.results[0]));
}

bool RematerializableValues::is_only_broadcast(ValueId v) const {
  return f_.has_uses(v) && forward_uses(f_, v, [&](OpId user, ValueId) {
           const OpKind k = f_.kind(user);
           if (k == OpKind::broadcast_) return ir::WalkResult::skip;
           const bool keeps_elements = k == OpKind::reshape_ || k == OpKind::permute_ || is_elementwise(ir::info(k));
           const bool is_followed = keeps_elements && !f_.type(f_.result(user)).is_scalar() && f_.has_uses(f_.result(user));
           return is_followed ? ir::WalkResult::advance : ir::WalkResult::interrupt;
         });
}

}  // namespace tilewright::passes
