// Scalars that are true where a whole mask is: a comparison of numbers that count up holds everywhere if it holds at an end.
//
//   base + k < n for k = 0 ... 31   <=>   base < n and n - base > 31 without a sign
#pragma once
#include <optional>

#include "passes/rewriter.h"

namespace tilewright::passes {

class AllTrueMask {
 public:
  explicit AllTrueMask(Rewriter& rw) : rw_(rw), f_(rw.ir()) {}

  /// Whether the mask is one of comparisons of aranges, scalars and sums of both, and of what is known too.
  bool known(ir::ValueId mask) const { return is_bounded(mask, 8); }
  /// At the rewriter's place. Where it is true the mask is everywhere; of two numbers that both count up it may be false though the mask
  /// is not. Requires: known.
  ir::ValueId scalar(ir::ValueId mask);
  /// a and b, either of which may be none, which stands for true.
  ir::ValueId both(ir::ValueId a, ir::ValueId b);

 private:
  /// A tile whose elements are base + first + k for k = 0 ... count - 1 and nothing else; no base: 0. The sum wraps as numbers of type
  /// `counted` do, and what becomes of it is cast to the tile's.
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
  /// The first element of a run, as what it is compared as; `holds` gets what must hold for the others to follow it there.
  ir::ValueId first_of(const Run&, ir::Element as, bool may_wrap, ir::ValueId& holds);
  ir::ValueId below(ir::OpId);

  Rewriter& rw_;
  const ir::Function& f_;
};

}  // namespace tilewright::passes
