// A reduction by one op: the region applies that op to its two arguments and yields the result.
#include "passes/combine/reductions.h"

#include <algorithm>

#include "tileir/op_kind.h"

namespace tilewright::passes {

ValueId before_reshapes(const Function& f, ValueId v) {
  while (const OpId reshape = f.defined_by(v, OpKind::reshape_)) v = f.operand(reshape, 0);
  return v;
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
