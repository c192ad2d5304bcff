// Emits inline PTX as LLVM inline assembly (LLVM Language Reference, "Inline Assembler Expressions"; constraints of NVPTX).
#include "backend/nvptx/ptx_asm.h"

#include <llvm/IR/InlineAsm.h>

#include "tileir/diagnostics.h"

namespace tilewright::backend::nvptx {

namespace {

std::string constraint(const llvm::Type* t) {
  if (t->isFloatTy()) return "f";
  if (t->isDoubleTy()) return "d";
  TW_CHECK(t->isIntegerTy(), "inline PTX takes scalars");
  switch (t->getIntegerBitWidth()) {
    case 1: return "b";
    case 16: return "h";
    case 32: return "r";
    case 64: return "l";
    default: TW_UNREACHABLE("inline PTX takes integers of 1, 16, 32 and 64 bits");
  }
}

}  // namespace

std::vector<Value*> inline_ptx(llvm::IRBuilder<>& b, const std::string& text, std::span<llvm::Type* const> outputs,
                               std::span<Value* const> inputs, AsmEffects effects, std::size_t tied) {
  std::string constraints;
  const auto add = [&](const std::string& c) { constraints += (constraints.empty() ? "" : ",") + c; };
  for (llvm::Type* t : outputs) add("=" + constraint(t));
  std::vector<llvm::Type*> types;
  // LLVM also numbers tied inputs; they come last, so that $ counts the other inputs as if there were no tied ones.
  for (std::size_t i = tied; i < inputs.size(); ++i) add(constraint(inputs[i]->getType())), types.push_back(inputs[i]->getType());
  for (std::size_t i = 0; i < tied; ++i) add(std::to_string(i)), types.push_back(inputs[i]->getType());
  if (effects.memory) add("~{memory}");
  llvm::LLVMContext& c = b.getContext();
  llvm::Type* result = outputs.empty()       ? llvm::Type::getVoidTy(c)
                       : outputs.size() == 1 ? outputs[0]
                                             : llvm::StructType::get(c, llvm::ArrayRef(outputs.data(), outputs.size()));
  auto* type = llvm::FunctionType::get(result, types, false);
  std::vector<Value*> args(inputs.begin() + static_cast<std::ptrdiff_t>(tied), inputs.end());
  args.insert(args.end(), inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(tied));
  llvm::CallInst* call = b.CreateCall(type, llvm::InlineAsm::get(type, text, constraints, effects.side_effects), args);
  if (effects.convergent) call->addFnAttr(llvm::Attribute::Convergent);
  if (!effects.memory) call->setDoesNotAccessMemory();
  call->addFnAttr(llvm::Attribute::NoUnwind);
  std::vector<Value*> out;
  if (outputs.size() == 1) out.push_back(call);
  if (outputs.size() > 1)
    for (unsigned i = 0; i < outputs.size(); ++i) out.push_back(b.CreateExtractValue(call, i));
  return out;
}

Value* inline_ptx(llvm::IRBuilder<>& b, const std::string& text, llvm::Type* output, std::initializer_list<Value*> inputs,
                  AsmEffects effects) {
  llvm::Type* outputs[] = {output};
  return inline_ptx(b, text, outputs, std::span(inputs.begin(), inputs.size()), effects)[0];
}

void inline_ptx(llvm::IRBuilder<>& b, const std::string& text, std::initializer_list<Value*> inputs, AsmEffects effects) {
  inline_ptx(b, text, {}, std::span(inputs.begin(), inputs.size()), effects);
}

std::string operand_vector(std::size_t count) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i) list += (i ? ", $" : "$") + std::to_string(i);
  return count > 1 ? "{" + list + "}" : list;
}

}  // namespace tilewright::backend::nvptx
