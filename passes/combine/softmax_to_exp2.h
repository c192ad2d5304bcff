// Rewrites the exponentials of a softmax to exp2, which is one GPU instruction.
#pragma once
#include <cstdint>
#include <map>
#include <utility>

#include "passes/pass.h"
#include "passes/rewriter.h"

namespace tilewright::passes {

/// Both rewrites take an exp op that is the rewriter's insertion point, and return the value that may replace its result, or none. They
/// apply on GPUs to f32.
class SoftmaxToExp2 {
 public:
  SoftmaxToExp2(Rewriter& rw, const PassContext& context) : rw_(rw), f_(rw.ir()), context_(context) {}

  /// exp(a - b), b the maximum of a's row, if errors of the result count relative to the largest of its row only.
  ValueId exp_below_maximum(OpId);
  /// exp(old - b), b the running maximum that a loop carries on as old: the factor by which a softmax rescales its sums.
  ValueId exp_of_rescale(OpId);

  /// Whether s is a sum of exponentials of which the largest is about 1: between 2^-93 and 2^127, or NaN.
  bool is_sum_of_weights(ValueId s) const;

 private:
  /// tile * factor; no factor: 1.
  struct Scaled {
    ValueId tile, factor;
  };
  /// Scores whose maximum `exponential` subtracts, without their scalar factor. Changes the ops that compute the scores and the maximum.
  Scaled take_factor(ValueId scores, OpId exponential);
  /// The old maximum of a running maximum b = maximum(old, row maximum) that a loop carries, if both are used within the loop only for
  /// exponentials of differences from b. Else none.
  ValueId carried_maximum(ValueId b);
  /// is_row_factor_hidden, as it was before any of the exponentials was rewritten.
  bool is_factor_hidden(ValueId reference);
  ValueId is_moderate(ValueId row);
  ValueId of_shape(ValueId scalar, Type t) { return t.is_scalar() ? scalar : rw_.broadcast(scalar, t.shape()); }
  ValueId number(Type t, double v) { return rw_.constant_float(t, v); }

  Rewriter& rw_;
  const Function& f_;
  const PassContext& context_;
  std::map<std::uint32_t, ValueId> carried_;       // results of carried_maximum, by value
  std::map<std::pair<OpId, int>, bool> hidden_;    // by origin_of_maximum
  std::map<std::uint32_t, std::int64_t> weights_;  // tiles of exponentials, the largest about 1 along this axis, by value
};

}  // namespace tilewright::passes
