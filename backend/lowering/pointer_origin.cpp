// Walks from an address to the parameter from which it is computed.
#include "backend/lowering/pointer_origin.h"

#include "tileir/op_kind.h"

namespace tilewright::backend {

namespace {

using ir::OpKind;
using ir::ValueId;

/// The pointer from which result `number` of an op, or argument `number` of its region, is computed; none if there is no such operand.
ValueId pointer_operand(const ir::Function& f, ir::OpId id, std::uint32_t number, bool is_argument) {
  const ir::OpData& op = f.op(id);
  switch (op.kind) {
    // The operands are lo, hi, step and the initial values; the arguments of the region are the index and the carried values.
    case OpKind::for_: return op.operands[3 + number - (is_argument ? 1 : 0)];
    case OpKind::while_: return op.operands[number];
    case OpKind::if_: return f.operand(f.terminator(f.region(id)), static_cast<int>(number));
    default: break;
  }
  for (ValueId v : op.operands)
    if (f.type(v).is_pointer()) return v;
  return {};
}

}  // namespace

int pointer_origin(const ir::Function& f, ValueId pointer) {
  // The walk ends, because each iteration goes to a value that is defined earlier.
  while (pointer && f.type(pointer).is_pointer()) {
    const ir::ValueData& v = f.value(pointer);
    const ir::OpId owner = v.op ? v.op : f.block(v.block).parent;
    if (!owner) return static_cast<int>(v.number);  // an argument of the function's body is a parameter
    pointer = pointer_operand(f, owner, v.number, !v.op);
  }
  return -1;
}

}  // namespace tilewright::backend
