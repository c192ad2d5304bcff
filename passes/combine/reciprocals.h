// Strength reduction of divisions: quotients by one divisor become products with its reciprocal.
#pragma once
#include "passes/combine/softmax_to_exp2.h"

namespace tilewright::passes {

class ReciprocalReduction {
 public:
  /// Exponentials are rewritten before the quotients of them: divisors that are their sums are known to be normal numbers.
  ReciprocalReduction(Rewriter& rw, const PassContext& context, const SoftmaxToExp2& softmax)
      : rw_(rw), f_(rw.ir()), context_(context), softmax_(softmax) {}

  /// x / s, f32, of a div op that is the rewriter's insertion point: the value that may replace its result, or none. Within 1.5 ulp.
  ValueId quotient(OpId);

 private:
  ValueId multiply_by_reciprocal(OpId);
  ValueId share_reciprocal(OpId);
  ValueId reciprocal(ValueId s, bool is_normal);
  ValueId number(Type t, double v) { return rw_.constant_float(t, v); }

  Rewriter& rw_;
  const Function& f_;
  const PassContext& context_;
  const SoftmaxToExp2& softmax_;
};

}  // namespace tilewright::passes
