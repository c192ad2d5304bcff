// The user's own PTX, once for each register.
#include "backend/lowering/elementwise.h"
#include "backend/nvptx/lowering.h"

namespace tilewright::backend::nvptx {

void NvptxLowering::emit_inline_ptx(OpId id) {
  const ValueId result = f_.result(id);
  std::vector<ValueId> operands = f_.op(id).operands;
  if (f_.attr(id, ir::AttrName::has_fallback)) operands.pop_back();
  // The constraints are of the registers that values are held in: tileir/target/ptx_constraints.h and ptx_asm.cpp agree on them.
  const std::string& text = f_.attr_text(id, ir::AttrName::text);
  llvm::Type* outputs[] = {type_of(result)};
  const std::size_t count = f_.type(result).is_scalar() ? 1 : layout(result).size(HardwareDim::reg);
  Registers out;
  for (std::size_t r = 0; r < count; ++r) {
    std::vector<Value*> inputs;
    for (ValueId v : operands) inputs.push_back(registers(v)[r]);
    out.push_back(inline_ptx(b_, text, outputs, inputs, kPure)[0]);
  }
  set(result, std::move(out));
}

}  // namespace tilewright::backend::nvptx
