// Strength reduction of divisions: quotients with a common divisor become products with its reciprocal.
#pragma once
#include "passes/combine/softmax_to_exp2.h"

namespace tilewright::passes {

class ReciprocalReduction {
 public:
  /// Exponentials are rewritten before the quotients that contain them: a divisor that is their sum is known to be a normal number.
  ReciprocalReduction(Rewriter& rw, const PassContext& context, const SoftmaxToExp2& softmax)
      : rw_(rw), f_(rw.ir()), context_(context), softmax_(softmax) {}

  /// The value that may replace x / s, a div op of f32 at the rewriter's insertion point; none if there is no such value. Within 1.5 ulp.
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
