// Element-wise ops, register by register, unless a cheaper form applies.
#include "backend/nvptx/elementwise.h"

#include <map>

#include "backend/lowering/elementwise.h"
#include "backend/nvptx/math.h"
#include "backend/nvptx/packed.h"

namespace tilewright::backend::nvptx {

void emit_elementwise(Emitter& e, IndexArithmetic& index, UniformDivision& division, OpId id) {
  if (index.emit(id) || division.emit(id) || emit_pairs(e, id)) return;
  const Function& f = e.f();
  const ir::OpData& op = f.op(id);
  std::vector<Type> types;
  for (ValueId v : op.operands) types.push_back(f.type(v).scalar());
  const Type result = f.type(op.results[0]).scalar();
  Registers out;
  std::vector<Value*> operands(op.operands.size());
  const std::size_t count = e.registers(op.operands[0]).size();
  std::map<std::vector<Value*>, Value*> same;  // registers that hold the same value are computed once
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t i = 0; i < operands.size(); ++i) operands[i] = e.registers(op.operands[i])[r];
    Value*& y = same[operands];
    if (!y) y = target_instruction(e, id, operands);
    if (!y) y = lower_elementwise(e.b(), e.target(), op.kind, types, result, operands);
    out.push_back(y);
  }
  e.set(op.results[0], std::move(out));
}

}  // namespace tilewright::backend::nvptx
