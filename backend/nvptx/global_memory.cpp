// Emits ld and st of global memory as inline PTX.
#include "backend/nvptx/global_memory.h"

#include <fmt/format.h>

#include "backend/nvptx/ptx_asm.h"
#include "backend/nvptx/words.h"

namespace tilewright::backend::nvptx {

using ir::Type;

std::vector<Value*> load_global(llvm::IRBuilder<>& b, Type element, Value* address, std::int64_t displacement, std::size_t count,
                                Value* predicate, std::span<Value* const> passthru, const std::string& modifiers) {
  const std::vector<llvm::Type*> words = word_types(b, element, count);
  const std::string text = fmt::format("{}ld{}{} {}, [${}{}];", predicate ? fmt::format("@${} ", words.size() + 1) : "", modifiers,
                                       word_suffix(words, element, count), operand_vector(words.size()), words.size(),
                                       displacement ? fmt::format(" + {}", displacement) : "");
  std::vector<Value*> inputs;
  if (predicate) inputs.assign(passthru.begin(), passthru.end());
  const std::size_t tied = inputs.size();
  inputs.push_back(address);
  if (predicate) inputs.push_back(predicate);
  // A register of 32 bits is set to `passthru` by a move, a register of 16 bits by a permutation of bytes.
  if (tied == 1 && words[0]->isIntegerTy(16)) {
    inputs[0] = b.CreateZExt(inputs[0], b.getInt32Ty());
    llvm::Type* wide[] = {b.getInt32Ty()};
    return {b.CreateTrunc(inline_ptx(b, text, wide, inputs, kMemory, tied)[0], words[0])};
  }
  return inline_ptx(b, text, words, inputs, kMemory, tied);
}

void store_global(llvm::IRBuilder<>& b, Type element, Value* address, std::int64_t displacement, std::span<Value* const> elements,
                  Value* predicate, const std::string& modifiers) {
  std::vector<Value*> words = pack(b, element, elements);
  const std::vector<llvm::Type*> types = word_types(b, element, elements.size());
  const std::string text = fmt::format("{}st{}{} [${}{}], {};", predicate ? fmt::format("@${} ", words.size() + 1) : "", modifiers,
                                       word_suffix(types, element, elements.size()), words.size(),
                                       displacement ? fmt::format(" + {}", displacement) : "", operand_vector(words.size()));
  words.push_back(address);
  if (predicate) words.push_back(predicate);
  inline_ptx(b, text, std::span<llvm::Type* const>(), words, kMemory);
}

}  // namespace tilewright::backend::nvptx
