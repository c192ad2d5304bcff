// Compares scalars with those of the program before.
#include "backend/host/kept_key.h"

namespace tilewright::backend::host {

KeptKey::KeptKey(Emitter& e, const Contraction& contraction, Value* iterations) : b_(e.b()) {
  llvm::Type* word = b_.getInt64Ty();
  for (ValueId v : contraction.key) words_.push_back(b_.CreateZExt(e.scalar(v), word));
  // A program of fewer iterations has computed fewer right factors.
  words_.push_back(iterations);
  // Columns without effect were not computed.
  for (const ContractedDot& each : contraction.dots)
    if (Value* live = e.live_count(e.live().of_op(each.dot, 1), e.f().type(e.f().result(each.dot)).extent(1))) words_.push_back(live);
  before_ = e.alloca_in_entry(word, static_cast<unsigned>(words_.size() + 1), 8);
  llvm::BasicBlock& entry = e.function().getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
  at_entry.CreateStore(at_entry.getInt64(none), at_entry.CreateConstInBoundsGEP1_64(word, before_, words_.size()));
  state_ = b_.CreateLoad(word, state_address());
  is_seen_ = b_.CreateICmpNE(state_, b_.getInt64(none));
  for (std::size_t i = 0; i < words_.size(); ++i) {
    Value* at = b_.CreateConstInBoundsGEP1_64(word, before_, i);
    is_seen_ = b_.CreateAnd(is_seen_, b_.CreateICmpEQ(b_.CreateLoad(word, at), words_[i]));
    b_.CreateStore(words_[i], at);
  }
}

Value* KeptKey::may_repeat() {
  Value* const is_first = b_.CreateICmpEQ(state_, b_.getInt64(none));
  return b_.CreateOr(is_seen_, b_.CreateOr(is_first, b_.CreateICmpUGE(state_, b_.getInt64(kRepeated))));
}

void KeptKey::set_state(Value* state) {
  b_.CreateStore(b_.CreateOr(state, b_.CreateSelect(is_seen_, b_.getInt64(kRepeated), b_.getInt64(none))), state_address());
}

}  // namespace tilewright::backend::host
