// Rules for constant operands: constant folding, and the order of operands.
#include <algorithm>
#include <array>

#include "passes/canonicalize/rules.h"
#include "tileir/interpreter/evaluate_scalar.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::canonical {

namespace {

/// The comparison that holds of (b, a) exactly when `k` holds of (a, b).
OpKind mirrored(OpKind k) {
  switch (k) {
    case OpKind::lt_: return OpKind::gt_;
    case OpKind::le_: return OpKind::ge_;
    case OpKind::gt_: return OpKind::lt_;
    case OpKind::ge_: return OpKind::le_;
    default: return k;
  }
}

ValueId order_operands(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  if (f.op(id).operands.size() < 2) return {};
  const OpKind k = f.kind(id);
  const ValueId a = f.operand(id, 0), b = f.operand(id, 1);
  if (!f.constant_bits(a) || f.constant_bits(b)) return {};
  if (k == OpKind::fma_) {  // fma(c, x, y) -> fma(x, c, y)
    return rw.ternary(k, b, a, f.operand(id, 2));
  }
  // c op x -> x op c
  if (ir::info(k).has(ir::kCommutative) || mirrored(k) != k) return rw.binary(mirrored(k), b, a);
  return {};
}

}  // namespace

ValueId fold_constants(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const ir::OpData& op = f.op(id);
  if (!ir::info(op.kind).has(ir::kElementwise) || op.operands.empty()) return {};
  std::array<Type, 3> types;
  std::array<std::uint64_t, 3> bits;
  std::size_t n = 0;
  for (ValueId v : op.operands) {
    const auto c = f.constant_bits(v);
    if (!c) return order_operands(rw, id);
    types[n] = f.type(v).scalar();
    bits[n++] = *c;
  }
  const Type result = f.type(op.results[0]);
  const std::uint64_t value = ir::evaluate_scalar(op.kind, std::span(types).first(n), std::span(bits).first(n), result.scalar());
  if (result.is_pointer() && value != 0) return {};  // a pointer constant is null
  return rw.constant_bits(result, value);
}

}  // namespace tilewright::passes::canonical
