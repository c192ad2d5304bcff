// Shared memory by 32-bit addresses, and how threads of a program meet: barriers and shuffles.
#include <fmt/format.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "backend/lowering/elementwise.h"
#include "backend/nvptx/lowering.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::nvptx {

Value* NvptxLowering::shared_address(std::int64_t offset) {
  if (!shared_) {
    // Its size is the launch's: more than 48 KiB cannot be declared (PTX ISA, "State spaces: .shared"; cuFuncSetAttribute).
    auto* array = new llvm::GlobalVariable(m_, llvm::ArrayType::get(b_.getInt8Ty(), 0), false, llvm::GlobalValue::ExternalLinkage, nullptr,
                                           "tilewright_shared", nullptr, llvm::GlobalValue::NotThreadLocal, 3);
    array->setAlignment(llvm::Align(128));
    shared_ = llvm::ConstantExpr::getPtrToInt(array, b_.getInt32Ty());
  }
  return offset == 0 ? shared_ : b_.CreateAdd(shared_, i32(offset));
}

void NvptxLowering::store_shared(Type element, Value* address, std::int64_t displacement, std::span<Value* const> elements, Value* predicate) {
  std::vector<Value*> words = pack(element, elements);
  const std::vector<llvm::Type*> types = word_types(element, elements.size());
  std::string list;
  for (std::size_t i = 0; i < words.size(); ++i) list += fmt::format("{}${}", i ? ", " : "", i);
  if (words.size() > 1) list = "{" + list + "}";
  const std::string text =
      fmt::format("{}st.shared{} [${} + {}], {};", predicate ? fmt::format("@${} ", words.size() + 1) : "",
                  word_suffix(types, element, elements.size()), words.size(), displacement, list);
  words.push_back(address);
  if (predicate) words.push_back(predicate);
  inline_ptx(b_, text, std::span<llvm::Type* const>(), words, kMemory);
}

std::vector<Value*> NvptxLowering::load_shared(Type element, Value* address, std::int64_t displacement, std::size_t count, Value* predicate) {
  const std::vector<llvm::Type*> words = word_types(element, count);
  std::string list;
  for (std::size_t i = 0; i < words.size(); ++i) list += fmt::format("{}${}", i ? ", " : "", i);
  if (words.size() > 1) list = "{" + list + "}";
  const std::string text = fmt::format("{}ld.shared{} {}, [${} + {}];", predicate ? fmt::format("@${} ", words.size() + 1) : "",
                                       word_suffix(words, element, count), list, words.size(), displacement);
  std::vector<Value*> inputs;
  if (predicate)
    for (llvm::Type* t : words) inputs.push_back(llvm::Constant::getNullValue(t));
  const std::size_t tied = inputs.size();
  inputs.push_back(address);
  if (predicate) inputs.push_back(predicate);
  return unpack(element, inline_ptx(b_, text, words, inputs, kMemory, tied), count);
}

void NvptxLowering::emit_barrier() {
  if (num_warps_ == 1) return emit_warp_barrier();
  b_.CreateIntrinsic(b_.getVoidTy(), llvm::Intrinsic::nvvm_barrier0, {});
}

void NvptxLowering::emit_warp_barrier() { b_.CreateIntrinsic(b_.getVoidTy(), llvm::Intrinsic::nvvm_bar_warp_sync, {b_.getInt32(UINT32_MAX)}); }

Value* NvptxLowering::shuffle(Shuffle mode, Value* v, Value* x) {
  constexpr llvm::Intrinsic::ID kIds[] = {llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, llvm::Intrinsic::nvvm_shfl_sync_idx_i32,
                                          llvm::Intrinsic::nvvm_shfl_sync_up_i32, llvm::Intrinsic::nvvm_shfl_sync_down_i32};
  // PTX ISA, "shfl.sync": the segment is the whole warp; `up` is bounded from below.
  Value* clamp = i32(mode == Shuffle::up ? 0 : 31);
  const auto move = [&](Value* word) { return b_.CreateIntrinsic(b_.getInt32Ty(), kIds[static_cast<int>(mode)], {b_.getInt32(UINT32_MAX), word, x, clamp}); };
  llvm::Type* type = v->getType();
  const unsigned bits = type->getPrimitiveSizeInBits();
  if (bits == 64) {
    Value* halves = b_.CreateBitCast(v, llvm::FixedVectorType::get(b_.getInt32Ty(), 2));
    Value* out = llvm::PoisonValue::get(halves->getType());
    for (std::uint64_t i = 0; i < 2; ++i) out = b_.CreateInsertElement(out, move(b_.CreateExtractElement(halves, i)), i);
    return b_.CreateBitCast(out, type);
  }
  if (bits == 32) return b_.CreateBitCast(move(b_.CreateBitCast(v, b_.getInt32Ty())), type);
  return b_.CreateTrunc(move(b_.CreateZExt(v, b_.getInt32Ty())), type);
}

Value* NvptxLowering::shuffle_xor(Value* v, std::uint32_t mask) { return shuffle(Shuffle::bfly, v, i32(mask)); }

}  // namespace tilewright::backend::nvptx
