// Rewrites the exponentials of a softmax to exp2, which is one GPU instruction.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "passes/pass.h"
#include "passes/rewriter.h"

namespace tilewright::passes {

/// Both rewrites take an exp op at the rewriter's insertion point and return the value that may replace its result, or none. They apply to
/// f32 on GPUs.
class SoftmaxToExp2 {
 public:
  SoftmaxToExp2(Rewriter& rw, const PassContext& context) : rw_(rw), f_(rw.ir()), context_(context) {}

  /// exp(a - b), where b is the maximum of a's row, if only errors relative to the largest result of the row matter.
  ValueId exp_below_maximum(OpId);
  /// exp(old - b), where b is the running maximum whose previous value is old: the factor by which a softmax rescales its sums.
  ValueId exp_of_rescale(OpId);

  /// Whether s is a sum of exponentials the largest of which is about 1: such a sum is between 2^-93 and 2^127, or NaN.
  bool is_sum_of_weights(ValueId s) const;

 private:
  /// Scores dot(q, k) s: the dot, the scalar s, the reduce that takes their maximum, and the select that masks scores, if there is one.
  struct Factor {
    OpId dot, reduce, select;
    ValueId scalar;
  };
  /// The scalar factor of scores whose maximum `exponential` subtracts, if the factor may be moved out of them.
  std::optional<Factor> factor_of(ValueId scores, OpId exponential) const;
  /// Scores without their factor; if there was one, also the row maximum of these, and the one of the original scores.
  struct Scores {
    ValueId tile, factor, maximum, scaled_maximum;
  };
  /// Rewrites the ops that compute the scores and their maximum.
  Scores take_factor(const Factor&, OpId exponential);

  /// A running maximum b = maximum(old, row maximum) that a loop carries, if the loop uses both only for exponentials of differences from
  /// b; otherwise `old` is none.
  struct Carried {
    ValueId old;
    bool is_scaled = false;  // all scores from which b is subtracted have a factor that is moved out
  };
  Carried carried_maximum(ValueId b);
  /// The result of is_row_factor_hidden before any exponential was rewritten.
  bool is_factor_hidden(ValueId reference);
  ValueId is_moderate(ValueId row, bool is_scaled);
  /// Scale and offset that turn scores x into exponents of 2: x scale + offset, broadcast to the rows of `reference`.
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
  std::map<std::uint32_t, Carried> carried_;       // results of carried_maximum, indexed by value
  std::map<std::pair<OpId, int>, bool> hidden_;    // indexed by origin_of_maximum
  std::map<std::uint32_t, std::int64_t> weights_;  // indexed by value: exponentials whose largest is about 1 along this axis
};

}  // namespace tilewright::passes
