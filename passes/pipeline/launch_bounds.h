// Bounds of a value in all programs of a launch, which the host computes when it launches the kernel.
#pragma once
#include <map>
#include <optional>

#include "passes/pipeline/position_facts.h"
#include "passes/rewriter.h"

namespace tilewright::passes {

/// Example: in program p, groups of rows = min(m - p / (8 n) * 8, 8). The least is min(m - (num_programs - 1) / max(8 n, 1) * 8, 8), if 8 n is
/// positive.
class LaunchBounds {
 public:
  /// Only says which bounds exist. The facts note the divisors that they rest on.
  LaunchBounds(const Function& f, const PositionFacts& facts) : f_(f), facts_(&facts) {}
  /// Emits the ops that compute the bounds where the rewriter stands, in the body. Requires: they exist.
  explicit LaunchBounds(Rewriter& rw) : f_(rw.ir()), rw_(&rw) {}

  /// An i64 that is at most the value in each program, if the divisors are positive. None if the host cannot compute one. Without a rewriter
  /// it is any value.
  std::optional<ValueId> least(ValueId v);

 private:
  struct Both {
    ValueId least, greatest;
  };
  std::optional<Both> bounds(ValueId v);
  std::optional<Both> bounds_of(OpId);
  std::optional<Both> quotient(OpId);
  Both product(const Both& a, const Both& b);
  ValueId binary(OpKind, ValueId a, ValueId b);
  ValueId constant(std::int64_t);

  const Function& f_;
  const PositionFacts* facts_ = nullptr;
  Rewriter* rw_ = nullptr;
  std::map<ValueId, std::optional<Both>> known_;
};

}  // namespace tilewright::passes
