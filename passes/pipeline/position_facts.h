// What is known of positions in tensors, and of the numbers they are computed from: their range, their signs and their divisors.
#pragma once
#include <cstdint>
#include <vector>

#include "passes/analysis/axis_info.h"
#include "passes/pipeline/polynomial_form.h"

namespace tilewright::passes {

/// Facts of values in an iteration of a loop (a for), or outside of loops. The argument attribute `positive` counts. Index arithmetic is
/// assumed not to wrap.
class PositionFacts {
 public:
  struct Interval {
    Wide lo = 0, hi = 0;
  };

  PositionFacts(const Function& f, OpId loop, const AxisInfoAnalysis& info) : f_(f), loop_(loop), info_(info) {}

  Interval interval(const Atom&) const;
  Interval interval(const Polynomial&) const;
  /// Quotients of a number that is not negative are taken to be not negative: the divisor is noted.
  bool is_not_negative(const Polynomial&) const;
  bool is_not_negative(ValueId) const;
  /// Notes a value, unless it is known to be positive.
  void take_as_positive(ValueId) const;
  const std::vector<ValueId>& taken_as_positive() const { return taken_as_positive_; }
  /// The greatest power of two up to 128 that is known to divide it.
  std::int64_t divisor(const Polynomial&) const;

 private:
  std::int64_t divisor(const Atom&) const;
  bool derive_not_negative(ValueId) const;

  const Function& f_;
  const OpId loop_;
  const AxisInfoAnalysis& info_;
  mutable std::vector<ValueId> taken_as_positive_;
};

}  // namespace tilewright::passes
