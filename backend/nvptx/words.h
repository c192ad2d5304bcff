// Elements in memory: packed into words of 1, 2, 4 or 8 bytes, which PTX loads and stores.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <span>
#include <string>
#include <vector>

#include "tileir/type.h"

namespace tilewright::backend::nvptx {

using llvm::Value;

/// The words of neighbouring elements, lowest address first.
std::vector<Value*> pack(llvm::IRBuilder<>&, ir::Type element, std::span<Value* const> elements);
/// The inverse of pack.
std::vector<Value*> unpack(llvm::IRBuilder<>&, ir::Type element, std::span<Value* const> words, std::size_t count);
/// Whether elements of less than 4 bytes are the result of unpacking words of 4 bytes, in order: then pack returns those words.
bool come_from_words(llvm::IRBuilder<>&, ir::Type element, std::span<Value* const> elements);
/// Types of the words of `count` elements, as pack makes them.
std::vector<llvm::Type*> word_types(llvm::IRBuilder<>&, ir::Type element, std::size_t count);
/// ".v4.b32", ".b16", ".b8": the suffix of a PTX load or store of such words.
std::string word_suffix(std::span<llvm::Type* const> words, ir::Type element, std::size_t count);

}  // namespace tilewright::backend::nvptx
