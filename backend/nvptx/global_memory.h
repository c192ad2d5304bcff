// Loads and stores of global memory: one instruction for up to 16 bytes of neighbouring elements.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <span>
#include <string>
#include <vector>

#include "tileir/type.h"

namespace tilewright::backend::nvptx {

using llvm::Value;

/// Loads `count` neighbouring elements as words (words.h), at `displacement` bytes after the address. `predicate` null: always; where it
/// does not hold, the result is `passthru`, also in words; if that is empty, undefined. `modifiers`: ".global", ".volatile.global", ...
std::vector<Value*> load_global(llvm::IRBuilder<>&, ir::Type element, Value* address, std::int64_t displacement, std::size_t count,
                                Value* predicate, std::span<Value* const> passthru, const std::string& modifiers);
void store_global(llvm::IRBuilder<>&, ir::Type element, Value* address, std::int64_t displacement, std::span<Value* const> elements,
                  Value* predicate, const std::string& modifiers);

}  // namespace tilewright::backend::nvptx
