// Ends of loops along axes of which only the first indices have an effect (passes/analysis/live_extents.h).
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <map>
#include <unordered_map>

#include "passes/analysis/live_extents.h"

namespace tilewright::backend::host {

class Emitter;

/// Computes the bounds once in each program, before its first op: they depend only on parameters and program ids.
class LiveBounds {
 public:
  explicit LiveBounds(const ir::Function&, const passes::AxisInfoAnalysis&);
  /// Begins a program: bounds will be computed at the builder's position.
  void begin_program(Emitter&);
  /// The number of first indices of an axis that are live, i64, from 0 to the extent; null if all of them may be live.
  llvm::Value* count(Emitter&, passes::LiveIndices, std::int64_t extent);
  const passes::LiveExtents& live() const { return live_; }

 private:
  llvm::Value* compared(Emitter&, ir::OpId comparison, std::int64_t extent);
  llvm::Value* first_element(Emitter&, ir::ValueId);

  const passes::LiveExtents live_;
  llvm::BasicBlock* begin_ = nullptr;
  std::map<std::pair<std::uint64_t, std::int64_t>, llvm::Value*> counts_;
  std::unordered_map<std::uint32_t, llvm::Value*> first_;  // indexed by value
};

}  // namespace tilewright::backend::host
