// What tells a program whether the one before it left the right factors that it needs.
#pragma once
#include "backend/host/emitter.h"

namespace tilewright::backend::host {

/// The scalars that right factors depend on and a state, as the program before left them. The entry of the function sets them to 0.
class KeptKey {
 public:
  enum State : std::uint64_t { none, seen, kept };

  KeptKey(Emitter&, const Contraction&);
  /// i1: the program before had the same key.
  Value* is_seen() { return is_seen_; }
  /// i1: it left right factors, which are those of this program.
  Value* is_kept() { return b_.CreateAnd(is_seen_, b_.CreateICmpEQ(state_, b_.getInt64(kept))); }
  void set_state(Value* state) { b_.CreateStore(state, state_address()); }

 private:
  Value* state_address() { return b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), before_, words_.size()); }

  llvm::IRBuilder<>& b_;
  Values words_;
  Value *before_ = nullptr, *state_ = nullptr, *is_seen_ = nullptr;
};

}  // namespace tilewright::backend::host
