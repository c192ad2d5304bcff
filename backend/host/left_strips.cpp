// Compares the addresses of rows, and copies rows.
#include "backend/host/left_strips.h"

namespace tilewright::backend::host {

namespace {
constexpr std::int64_t kEntryBytes = 16;  // the address of the first row, and the distance
}

LeftStrips::LeftStrips(Emitter& e, std::int64_t segments, std::int64_t rows, std::int64_t row_bytes)
    : e_(e),
      b_(e.b()),
      rows_(rows),
      row_bytes_(row_bytes),
      table_(e.allocate_scratch(segments * kEntryBytes)),
      copies_(e.allocate_scratch(segments * rows * row_bytes)) {}

void LeftStrips::release() {
  e_.free_scratch(table_);
  e_.free_scratch(copies_);
}

void LeftStrips::find(Value* number, Value* addresses, Value* live, Value* valid_bytes) {
  const auto lanes = static_cast<unsigned>(rows_);
  Value* const all = b_.CreateAlignedLoad(llvm::FixedVectorType::get(b_.getInt64Ty(), lanes), addresses, llvm::Align(8));
  Value* const first = b_.CreateExtractElement(all, std::uint64_t{0});
  Value* const distance = b_.CreateSub(b_.CreateExtractElement(all, std::uint64_t{1}), first);
  std::vector<llvm::Constant*> numbers;
  for (unsigned i = 0; i < lanes; ++i) numbers.push_back(b_.getInt64(i));
  Value* const even = b_.CreateAdd(b_.CreateVectorSplat(lanes, first),
                                   b_.CreateMul(b_.CreateVectorSplat(lanes, distance), llvm::ConstantVector::get(numbers)));
  Value* in_place = b_.CreateAndReduce(b_.CreateICmpEQ(all, even));
  if (live) in_place = b_.CreateAnd(in_place, b_.CreateICmpSGE(live, e_.i64(rows_)));
  if (valid_bytes) in_place = b_.CreateAnd(in_place, b_.CreateICmpSGE(valid_bytes, e_.i64(row_bytes_)));
  llvm::BasicBlock* const before = b_.GetInsertBlock();
  llvm::BasicBlock *const uneven = e_.new_block("uneven"), *const found = e_.new_block("strip");
  b_.CreateCondBr(in_place, found, uneven);
  b_.SetInsertPoint(uneven);
  Value* const to = b_.CreateInBoundsGEP(b_.getInt8Ty(), copies_.address, b_.CreateMul(number, e_.i64(rows_ * row_bytes_)));
  copy(to, addresses, live, valid_bytes);
  llvm::BasicBlock* const copied = b_.GetInsertBlock();
  b_.CreateBr(found);
  b_.SetInsertPoint(found);
  auto* const base = b_.CreatePHI(b_.getPtrTy(), 2);
  base->addIncoming(to, copied);
  auto* const step = b_.CreatePHI(b_.getInt64Ty(), 2);
  step->addIncoming(e_.i64(row_bytes_), copied);
  step->addIncoming(distance, before);
  b_.SetInsertPoint(before->getTerminator());
  base->addIncoming(b_.CreateIntToPtr(first, b_.getPtrTy()), before);
  b_.SetInsertPoint(found);
  b_.CreateStore(base, field(number, 0));
  b_.CreateStore(step, field(number, 1));
}

void LeftStrips::copy(Value* to, Value* addresses, Value* live, Value* valid_bytes) {
  Value* const count = live ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, live, e_.i64(rows_)) : nullptr;
  e_.loop_over_first(count, rows_, 1, [&](Value* row) {
    Value* const into = b_.CreateInBoundsGEP(b_.getInt8Ty(), to, b_.CreateMul(row, e_.i64(row_bytes_)));
    Value* const from = b_.CreateLoad(b_.getPtrTy(), b_.CreateInBoundsGEP(b_.getPtrTy(), addresses, row));
    const llvm::Align aligned(64), any(1);
    if (valid_bytes) b_.CreateMemSet(into, b_.getInt8(0), static_cast<std::uint64_t>(row_bytes_), aligned);
    b_.CreateMemCpy(into, aligned, from, any, valid_bytes ? valid_bytes : e_.i64(row_bytes_));
  });
}

EvenRows LeftStrips::rows(Value* number) {
  return {b_.CreateLoad(b_.getPtrTy(), field(number, 0)), b_.CreateLoad(b_.getInt64Ty(), field(number, 1))};
}

Value* LeftStrips::field(Value* number, std::uint64_t i) {
  Value* const entry = b_.CreateInBoundsGEP(b_.getInt8Ty(), table_.address, b_.CreateMul(number, e_.i64(kEntryBytes)));
  return b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), entry, i);
}

}  // namespace tilewright::backend::host
