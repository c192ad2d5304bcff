// Packs elements into words.
#include "backend/nvptx/words.h"

#include <fmt/format.h>
#include <llvm/IR/PatternMatch.h>

#include "backend/lowering/elementwise.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::nvptx {

using ir::Type;

// PTX has no 8-bit registers: a single byte is in the low half of a 16-bit register.

std::vector<llvm::Type*> word_types(llvm::IRBuilder<>& b, Type element, std::size_t count) {
  const std::size_t size = static_cast<std::size_t>(element.element_bytes());
  if (size >= 4) return std::vector<llvm::Type*>(count, register_type(b.getContext(), element.scalar()));
  const std::size_t bytes = size * count;
  if (bytes < 4) return {b.getInt16Ty()};
  return std::vector<llvm::Type*>(bytes / 4, b.getInt32Ty());
}

std::string word_suffix(std::span<llvm::Type* const> words, Type element, std::size_t count) {
  const std::size_t bits = 8 * static_cast<std::size_t>(element.element_bytes()) * count / words.size();
  return words.size() == 1 ? fmt::format(".b{}", bits) : fmt::format(".v{}.b{}", words.size(), bits);
}

/// The word from which unpack() made these elements, if they are all of its elements in order; else null. LLVM does not find it again.
static Value* unpacked_word(std::span<Value* const> elements, llvm::Type* word_type) {
  using namespace llvm::PatternMatch;
  Value* word = nullptr;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const unsigned bits = elements[i]->getType()->getPrimitiveSizeInBits();
    Value* from = nullptr;
    const bool is_lane = match(elements[i], m_ExtractElt(m_BitCast(m_Value(from)), m_SpecificInt(i)));
    const bool is_first = !is_lane && i == 0 && match(elements[i], m_Trunc(m_Value(from)));
    if (!is_lane && !is_first && !match(elements[i], m_Trunc(m_LShr(m_Value(from), m_SpecificInt(bits * i))))) return nullptr;
    if (word && from != word) return nullptr;
    word = from;
  }
  return word && word->getType() == word_type ? word : nullptr;
}

bool come_from_words(llvm::IRBuilder<>& b, Type element, std::span<Value* const> elements) {
  const std::size_t size = static_cast<std::size_t>(element.element_bytes());
  if (size >= 4 || elements.size() * size % 4 != 0) return false;
  for (std::size_t i = 0; i < elements.size(); i += 4 / size)
    if (!unpacked_word(elements.subspan(i, 4 / size), b.getInt32Ty())) return false;
  return true;
}

std::vector<Value*> pack(llvm::IRBuilder<>& b, Type element, std::span<Value* const> elements) {
  const int size = element.element_bytes();
  if (size >= 4) return {elements.begin(), elements.end()};
  llvm::Type* part = b.getIntNTy(static_cast<unsigned>(8 * size));
  const std::vector<llvm::Type*> types = word_types(b, element, elements.size());
  const std::size_t each = elements.size() / types.size();
  std::vector<Value*> words;
  for (std::size_t w = 0; w < types.size(); ++w) {
    if (Value* known = unpacked_word(elements.subspan(w * each, each), types[w])) {
      words.push_back(known);
      continue;
    }
    if (size == 2 && each == 2) {
      Value* pair = llvm::PoisonValue::get(llvm::FixedVectorType::get(part, 2));
      for (std::uint64_t i = 0; i < 2; ++i) pair = b.CreateInsertElement(pair, elements[w * 2 + i], i);
      words.push_back(b.CreateBitCast(pair, types[w]));
      continue;
    }
    Value* word = nullptr;
    for (std::size_t i = 0; i < each; ++i) {
      Value* x = b.CreateZExt(elements[w * each + i], types[w]);
      if (i > 0) x = b.CreateShl(x, 8 * static_cast<std::uint64_t>(size) * i);
      word = word ? b.CreateOr(word, x) : x;
    }
    words.push_back(word);
  }
  return words;
}

std::vector<Value*> unpack(llvm::IRBuilder<>& b, Type element, std::span<Value* const> words, std::size_t count) {
  const int size = element.element_bytes();
  if (size >= 4) return {words.begin(), words.end()};
  llvm::Type* part = b.getIntNTy(static_cast<unsigned>(8 * size));
  const std::size_t each = count / words.size();
  std::vector<Value*> elements;
  for (Value* word : words) {
    Value* pair = size == 2 && each == 2 ? b.CreateBitCast(word, llvm::FixedVectorType::get(part, 2)) : nullptr;
    for (std::size_t i = 0; i < each; ++i) {
      Value* x = pair ? b.CreateExtractElement(pair, i)
                      : b.CreateTrunc(i > 0 ? b.CreateLShr(word, 8 * static_cast<std::uint64_t>(size) * i) : word, part);
      elements.push_back(element.is_bool() ? b.CreateICmpNE(x, b.getInt8(0)) : x);
    }
  }
  return elements;
}

}  // namespace tilewright::backend::nvptx
