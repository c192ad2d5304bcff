// Recognises a reduction by one op: its region applies that op to its two arguments and yields the result.
#include "passes/combine/reductions.h"

#include <algorithm>
#include <limits>

#include "tileir/builder.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

ValueId before_reshapes(const Function& f, ValueId v) {
  while (const OpId reshape = f.defined_by(v, OpKind::reshape_)) v = f.operand(reshape, 0);
  return v;
}

ValueId maximum_of_reference(const Function& f, ValueId v) {
  v = before_reshapes(f, v);
  const OpId select = f.defined_by(v, OpKind::select_);
  const OpId equal = select ? f.defined_by(f.operand(select, 0), OpKind::eq_) : OpId{};
  if (!equal) return v;
  const ValueId maximum = f.operand(select, 2);
  const auto is_constant = [&](ValueId x, double number) {
    const auto bits = f.constant_bits(x);
    return f.type(x).is_float() && bits && ir::float_value(f.type(x).element(), *bits) == number;
  };
  const bool is_guarded = f.operand(equal, 0) == maximum && is_constant(f.operand(equal, 1), -std::numeric_limits<double>::infinity()) &&
                          is_constant(f.operand(select, 1), 0);
  return is_guarded ? before_reshapes(f, maximum) : v;
}

OpId reduction_by(const Function& f, ValueId v, std::initializer_list<OpKind> kinds) {
  const OpId reduce = f.defined_by(before_reshapes(f, v), OpKind::reduce_);
  if (!reduce || f.op(reduce).operands.size() != 1) return {};
  const OpId combiner = f.value(f.operand(f.terminator(f.region(reduce)), 0)).op;
  if (!combiner || std::find(kinds.begin(), kinds.end(), f.kind(combiner)) == kinds.end()) return {};
  const auto& args = f.block(f.region(reduce)).args;
  const ValueId l = f.operand(combiner, 0), r = f.operand(combiner, 1);
  return (l == args[0] && r == args[1]) || (l == args[1] && r == args[0]) ? reduce : OpId{};
}

}  // namespace tilewright::passes
