// The values of a loop (a for) whose step is a positive constant: the number of its iterations, its counter in later iterations, and the
// values that it carries.
#pragma once
#include "passes/pass.h"
#include "passes/rewriter.h"

namespace tilewright::passes {

class LoopValues {
 public:
  /// Emits the number of iterations before the loop; the rewriter's insertion point must be there.
  LoopValues(Rewriter&, OpId loop);

  OpId op() const { return loop_; }
  BlockId body() const { return f_.region(loop_); }
  ValueId counter() const { return f_.arg(body(), 0); }
  ValueId init(int k) const { return f_.operand(loop_, k + 3); }
  ValueId carried(int k) const { return f_.arg(body(), k + 1); }
  ValueId next(int k) const { return f_.operand(f_.terminator(body()), k); }

  /// Adds a carried value and returns its argument. The loop yields the argument until set_next sets another value.
  ValueId carry(ValueId init);
  void set_next(ValueId arg, ValueId next);

  /// The value of the counter that many iterations after `from`.
  ValueId counter_after(ValueId from, std::int64_t iterations);
  /// The counter in the first iteration, and in the last one.
  ValueId first_counter() const { return f_.operand(loop_, 0); }
  ValueId last_counter() { return last_value(first_counter(), step()); }
  /// The value in the last iteration, if it starts at `init` and each iteration advances it by `by`.
  ValueId last_value(ValueId init, ValueId by) { return advanced(init, last_, by); }

  /// Emits, before the loop, whether it has an iteration with this number, counted from 0.
  ValueId exists(int iteration);
  /// Emits, before the loop, the counter value from which on no iteration follows `distance` iterations later: lo + (n - distance) s, or
  /// lo.
  ValueId end_of(int distance);

 private:
  ValueId advanced(ValueId from, ValueId iterations, ValueId by);
  ValueId step();

  Rewriter& rw_;
  Function& f_;
  const OpId loop_;
  ValueId count_, last_;  // number of iterations; number of the last one, from 0. In the unsigned type of the counter
};

}  // namespace tilewright::passes
