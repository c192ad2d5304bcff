// Walks from an address to the parameter that it is computed from.
#include "backend/lowering/pointer_origin.h"

#include "tileir/op_kind.h"

namespace tilewright::backend {

namespace {

using ir::OpKind;
using ir::ValueId;

/// The operand that a result of an op, or an argument of its region, is computed from; none if the op does not pass on a pointer.
ValueId passed_on(const ir::Function& f, ir::OpId id, std::uint32_t number, bool is_argument) {
  const ir::OpData& op = f.op(id);
  switch (op.kind) {
    case OpKind::for_: return op.operands[3 + number - (is_argument ? 1 : 0)];  // the index precedes the variables
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
  // Every step goes to an earlier value, so this ends.
  while (pointer && f.type(pointer).is_pointer()) {
    const ir::ValueData& v = f.value(pointer);
    const ir::OpId owner = v.op ? v.op : f.block(v.block).parent;
    if (!owner) return static_cast<int>(v.number);
    pointer = passed_on(f, owner, v.number, !v.op);
  }
  return -1;
}

}  // namespace tilewright::backend
