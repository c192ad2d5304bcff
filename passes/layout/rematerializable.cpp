// One pass in program order: a value is free if its operands are.
#include "passes/layout/rematerializable.h"

#include <algorithm>

#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

/// An op that works element by element on tiles of one shape and may be done again.
bool is_elementwise(const ir::OpInfo& info) { return info.has(ir::kPure) && (info.has(ir::kElementwise) || info.family == Family::hint); }

}  // namespace

int element_cost(const ir::Function& f, OpId id) {
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

RematerializableValues::RematerializableValues(const ir::Function& f) : f_(f), cost_(f.value_capacity(), -1) {
  f.walk([&](OpId id) {
    if (f.op(id).results.size() == 1 && !f.type(f.result(id)).is_scalar()) cost_[f.result(id).index] = cost_of(id);
  });
}

int RematerializableValues::cost_of(OpId id) const {
  const ir::OpData& op = f_.op(id);
  const bool all_free =
      std::all_of(op.operands.begin(), op.operands.end(), [&](ValueId v) { return f_.type(v).is_scalar() || (*this)(v); });
  switch (op.kind) {
    case OpKind::constant_:
    case OpKind::broadcast_: return 0;
    case OpKind::arange_: return 1;
    case OpKind::reshape_:
    case OpKind::permute_: return all_free ? 0 : -1;
    case OpKind::inline_ptx_: return all_free ? kNotDuplicable : -1;
    case OpKind::load_: return all_free && is_only_broadcast(op.results[0]) ? kNotDuplicable : -1;
    default: return all_free && is_elementwise(ir::info(op.kind)) ? passes::element_cost(f_, id) : -1;
  }
}

bool RematerializableValues::is_only_broadcast(ValueId v) const {
  std::vector<ValueId> reached{v};
  std::vector<bool> seen(f_.value_capacity());
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const auto& users = f_.value(reached[next]).users;
    if (users.empty()) return false;
    for (OpId user : users) {
      const OpKind k = f_.kind(user);
      if (k == OpKind::broadcast_) continue;
      const bool hands_on = k == OpKind::reshape_ || k == OpKind::permute_ || is_elementwise(ir::info(k));
      if (!hands_on || f_.type(f_.result(user)).is_scalar()) return false;
      const ValueId result = f_.result(user);
      if (!seen[result.index]) reached.push_back(result);
      seen[result.index] = true;
    }
  }
  return true;
}

}  // namespace tilewright::passes
