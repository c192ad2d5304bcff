// Rewrites the exponentials of a softmax to exp2, which is one GPU instruction.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
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
  /// Scores dot(q, k) s: the dot, the scalar s, the reduce that takes their maximum, and the select that leaves some out, if there is one.
  struct Factor {
    OpId dot, reduce, select;
    ValueId scalar;
  };
  /// The scalar factor of scores whose maximum `exponential` subtracts, if it may be taken out of them.
  std::optional<Factor> factor_of(ValueId scores, OpId exponential) const;
  /// Scores without their factor; with one, the maximum of a row of them, and what that is of the scores as written.
  struct Scores {
    ValueId tile, factor, maximum, scaled_maximum;
  };
  /// Changes the ops that compute the scores and the maximum.
  Scores take_factor(const Factor&, OpId exponential);

  /// A running maximum b = maximum(old, row maximum) that a loop carries, if both are used within the loop only for exponentials of
  /// differences from b; else `old` is none.
  struct Carried {
    ValueId old;
    bool is_scaled = false;  // all scores that b is subtracted from have a factor that is taken out
  };
  Carried carried_maximum(ValueId b);
  /// is_row_factor_hidden, as it was before any of the exponentials was rewritten.
  bool is_factor_hidden(ValueId reference);
  ValueId is_moderate(ValueId row, bool is_scaled);
  /// What makes scores x exponents of 2, in units of a row: x scale + offset, broadcast to the rows of `reference`.
  struct Exponents {
    ValueId scale, offset;
  };
  Exponents exponents(const Scores&, ValueId reference);
  ValueId power_of_two_above(ValueId scalar);
  ValueId of_shape(ValueId scalar, Type t) { return t.is_scalar() ? scalar : rw_.broadcast(scalar, t.shape()); }
  ValueId number(Type t, double v) { return rw_.constant_float(t, v); }

  Rewriter& rw_;
  const Function& f_;
  const PassContext& context_;
  std::map<std::uint32_t, Carried> carried_;       // results of carried_maximum, by value
  std::map<std::pair<OpId, int>, bool> hidden_;    // by origin_of_maximum
  std::map<std::uint32_t, std::int64_t> weights_;  // tiles of exponentials, the largest about 1 along this axis, by value
};

}  // namespace tilewright::passes
