// Splits a large function into small ones (outlining). The time of LLVM's register allocation, scheduling, instruction selection and loop
// passes grows faster than the function; thousands of constants that are hoisted out of a large loop body are the worst case.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <vector>

namespace tilewright::backend::host {

/// Where a function may be split. A sequence is code that is entered at its first point and left at its last one, and that passes each
/// point between them once, in order: the steps of a block, the ops of a loop's body.
class SplitPoints {
 public:
  /// A point after an instruction, or at the beginning of the block if `after` is null.
  struct Point {
    llvm::BasicBlock* block;
    llvm::Instruction* after;
    friend bool operator==(const Point&, const Point&) = default;
  };

  /// Begins a sequence at the end of the builder's block. A sequence that is nested in it begins later and ends earlier.
  std::size_t begin(const llvm::IRBuilderBase&);
  /// Adds a point to the sequence, at the end of the builder's block.
  void add(std::size_t sequence, const llvm::IRBuilderBase&);

  const std::vector<std::vector<Point>>& sequences() const { return sequences_; }

 private:
  std::vector<std::vector<Point>> sequences_;
};

/// Outlines parts of a function that has more than kLargeFunction instructions. Each part has about kPartInstructions, or the fewest above
/// that which the points allow. Values that cross from one part to another go through a frame in memory at `scratch` + `offset`, both
/// multiples of 64; results are the same to the bit. Returns the bytes of the frame, or 0 if the function is left as it is.
std::int64_t outline_parts(llvm::Function&, const SplitPoints&, llvm::Value* scratch, std::int64_t offset);

inline constexpr std::size_t kLargeFunction = 2000, kPartInstructions = 1000;

}  // namespace tilewright::backend::host
