// Loads the accumulators of a contraction's blocks, and stores them.
#pragma once
#include "backend/host/amx_tile.h"
#include "backend/host/register_tile.h"

namespace tilewright::backend::host {

/// They start at 0 without being loaded, and are kept in a buffer between the blocks of the loop. The last block writes them straight to
/// memory if the program stores them as they are and a mask hides none of them (ContractedDot); else they are in the buffer when the loop ends.
class TileSums {
 public:
  TileSums(Emitter&, const ContractedDot&);

  /// The methods below follow this one, which stands before a loop of so many iterations.
  void begin(Value* iterations);
  /// Sets which block the next tiles belong to. i1: whether it is the first or the last one of the loop.
  void begin_block(Value* is_first, Value* is_last);
  /// Loads and stores the tile at this row and column.
  void load(AmxTile&, Value* row, Value* column);
  void store(AmxTile&, Value* row, Value* column);
  Values load(RegisterTile&, Value* row, Value* column);
  void store(RegisterTile&, const Values& sums, Value* row, Value* column);

  /// The store of the sums, and whether (i1) it has nothing left to do once the loop has ended; null: it has.
  OpId store_op() const { return dot_.store; }
  Value* are_stored() const { return are_stored_; }

 private:
  EvenRows tile(const EvenRows&, Value* row, Value* column);
  /// i1: whether these registers are stored to memory by non-temporal stores in this block; null: never.
  Value* streams(const RegisterTile&) const;
  /// Emits `then` where the condition holds, else `otherwise`; null: it never does.
  void either(Value* condition, const std::function<void()>& then, const std::function<void()>& otherwise);
  /// Continues after `zero` if this is the first block, else after `loaded`; both return their accumulators.
  Values begin_tile(const std::function<Values()>& zero, const std::function<Values()>& loaded);

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const ContractedDot& dot_;
  const Type type_;
  const EvenRows buffer_;
  EvenRows memory_{}, target_{};
  Value *is_first_ = nullptr, *are_stored_ = nullptr;
  Value *streams_ = nullptr, *streams_block_ = nullptr;  // i1: the stores to memory are non-temporal; in this block. Null: never.
};

}  // namespace tilewright::backend::host
