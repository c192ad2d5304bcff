// Compares the key of a program with that of the program before, which tells whether that one left the right factors that this one needs.
#pragma once
#include "backend/host/emitter.h"

namespace tilewright::backend::host {

/// The scalars that right factors depend on, the number of iterations and a state, as the program before left them. The entry of the
/// function sets the state to none.
class KeptKey {
 public:
  enum State : std::uint64_t { none, seen, kept };

  KeptKey(Emitter&, const Contraction&, Value* iterations);
  /// i1: the program before had the same key.
  Value* is_seen() { return is_seen_; }
  /// i1: it left right factors, which are those of this program.
  Value* is_kept() { return b_.CreateAnd(is_seen_, b_.CreateICmpEQ(b_.CreateAnd(state_, b_.getInt64(kStates)), b_.getInt64(kept))); }
  /// i1: the next program may well have the same key: this one has that of the program before, or is the first one, or the program before
  /// had that of the one before it. Right factors that no later program finds had better stay in the memory that each block uses.
  Value* may_repeat();
  void set_state(Value* state);

 private:
  static constexpr std::uint64_t kStates = 3, kRepeated = 4;  // the bits of a state; whether the key was that of the program before

  Value* state_address() { return b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), before_, words_.size()); }

  llvm::IRBuilder<>& b_;
  Values words_;
  Value *before_ = nullptr, *state_ = nullptr, *is_seen_ = nullptr;
};

}  // namespace tilewright::backend::host
