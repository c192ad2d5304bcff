// Forms for what the elements of a row share: one reciprocal for their quotients, and on GPUs the scaled maximum of a softmax.
#pragma once
#include <cstdint>
#include <map>

#include "passes/pass.h"
#include "passes/rewriter.h"

namespace tilewright::passes {

/// Each function takes an op that the rewriter stands at, and returns what may replace its result, or none. Exponentials before the
/// quotients of them.
class SoftmaxToExp2 {
 public:
  SoftmaxToExp2(Rewriter& rw, const PassContext& context) : rw_(rw), f_(rw.ir()), context_(context) {}

  /// GPU: exp(a - b), f32, b the maximum of a's row, where only sizes beside the row's largest matter.
  ir::ValueId exp_below_maximum(ir::OpId);
  /// GPU: exp(old - b), f32, b the maximum of old and a tile's rows that a loop carries on as old: what takes sums from one to the other.
  ir::ValueId exp_of_step(ir::OpId);
  /// x / s, f32, for a row of x or with attribute fast.
  ir::ValueId quotient(ir::OpId);

 private:
  ir::ValueId multiply_by_reciprocal(ir::OpId);
  ir::ValueId share_reciprocal(ir::OpId);
  ir::ValueId reciprocal(ir::ValueId s, bool is_ordinary);
  bool is_sum_of_weights(ir::ValueId) const;
  /// tile * factor; no factor: 1.
  struct Scaled {
    ir::ValueId tile, factor;
  };
  /// Scores whose maximum `exponential` is relative to, without the scalar factor that they have. Changes the ops that make both.
  Scaled take_factor(ir::ValueId scores, ir::OpId exponential);
  ir::ValueId carried_before(ir::ValueId maximum);
  ir::ValueId is_moderate(ir::ValueId row);
  ir::ValueId of_shape(ir::ValueId scalar, ir::Type t) { return t.is_scalar() ? scalar : rw_.broadcast(scalar, t.shape()); }
  ir::ValueId number(ir::Type t, double v) { return rw_.constant_float(t, v); }

  Rewriter& rw_;
  const ir::Function& f_;
  const PassContext& context_;
  std::map<std::uint32_t, ir::ValueId> running_;   // what carried_before said, by value
  std::map<std::uint32_t, std::int64_t> weights_;  // tiles of exponentials, the largest about 1 along this axis, by value
};

}  // namespace tilewright::passes
