// Emits the user's own PTX, once for each register.
#include "backend/nvptx/inline_ptx.h"

#include "backend/lowering/elementwise.h"
#include "backend/nvptx/ptx_asm.h"

namespace tilewright::backend::nvptx {

void emit_inline_ptx(Emitter& e, OpId id) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  const ValueId result = f.result(id);
  std::vector<ValueId> operands = f.op(id).operands;
  if (f.attr(id, ir::AttrName::has_fallback)) operands.pop_back();
  // The constraints describe the registers that hold values: tileir/target/ptx_constraints.h and ptx_asm.cpp agree on these.
  const std::string& text = f.attr_text(id, ir::AttrName::text);
  llvm::Type* outputs[] = {register_type(b.getContext(), f.type(result))};
  const std::size_t count = f.type(result).is_scalar() ? 1 : e.layout(result).size(HardwareDim::reg);
  Registers out;
  for (std::size_t r = 0; r < count; ++r) {
    std::vector<Value*> inputs;
    for (ValueId v : operands) inputs.push_back(e.registers(v)[r]);
    out.push_back(inline_ptx(b, text, outputs, inputs, kPure)[0]);
  }
  e.set(result, std::move(out));
}

}  // namespace tilewright::backend::nvptx
