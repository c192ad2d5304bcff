// Builds scalars that are true where a mask is all-true: a comparison of consecutive numbers holds for all if it holds at one end.
//
//   base + k < n for k = 0 ... 31   <=>   base < n and n - base > 31 as unsigned numbers
#pragma once
#include <optional>

#include "passes/rewriter.h"

namespace tilewright::passes {

class AllTrueMask {
 public:
  explicit AllTrueMask(Rewriter& rw) : rw_(rw), f_(rw.ir()) {}

  /// Whether a scalar can be built for a mask: conjunctions of scalars, constants and comparisons of aranges, scalars and their sums.
  bool is_known(ir::ValueId mask) const { return is_bounded(mask, 8); }
  /// Emits a scalar at the rewriter's insertion point. If it is true, the mask is all-true. If it is false, the mask may still be all-true
  /// if both sides of a comparison vary. Requires: is_known.
  ir::ValueId scalar(ir::ValueId mask);
  /// The conjunction of a and b; none stands for true.
  ir::ValueId both(ir::ValueId a, ir::ValueId b);

 private:
  /// The elements of a tile: base + first + k for k = 0 ... count - 1; without a base: base = 0. The sum is computed in type `counted`,
  /// where it wraps, and cast to the tile's type.
  struct Run {
    ir::ValueId base;
    std::int64_t first = 0, count = 1;
    ir::Element counted = ir::Element::i32;
  };
  /// low < high or low <= high.
  struct Comparison {
    ir::ValueId low, high;
    bool or_equal;
  };
  bool is_bounded(ir::ValueId mask, int depth) const;
  std::optional<Comparison> comparison(ir::OpId) const;
  std::optional<Run> run_of(ir::ValueId) const;
  /// The first element of a run in the comparison's type `as`; `holds` gets the condition under which the run does not wrap.
  ir::ValueId first_of(const Run&, ir::Element as, bool may_wrap, ir::ValueId& holds);
  ir::ValueId below(ir::OpId);

  Rewriter& rw_;
  const ir::Function& f_;
};

}  // namespace tilewright::passes
