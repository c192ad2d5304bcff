// The reductions of a loop, the references that stand for them while it runs, and the accumulators of which they are made.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "passes/fusion/expr/expr.h"

namespace tilewright::passes::fusion {

/// Which reference represents a reduction while the loop runs.
enum class Policy : std::uint8_t {
  complete,  // none: a later pass uses the complete value
  deferred,  // none: factors that depend on it are applied after the loop
  rolling,   // the value so far
  shifted,   // an estimate from the first tile: the value so far, extrapolated
  constant,  // a number that bounds it; the reduction is not computed
  unused,    // no output depends on it; it is not computed
};
std::string_view text(Policy);

/// factor * accumulator.
struct AccumulatorTerm {
  Expr factor;
  int accumulator;
};

struct Accumulator {
  graph::Combine combine{};
  Expr exponent;  // the accumulator moves by exp(exponent new - exponent old)
  Expr body;      // the contribution of an element of the loop's axis
  AxisSet axes;   // axes of the accumulator: those of the body without the loop's
  int pass = 1;
  /// If the body has shift references: the accumulator after they move and before the exponent does; the factors contain the deltas.
  std::vector<AccumulatorTerm> move;
  Expr reduce;  // a reduction of which it is a term
  Fold fold() const { return combine == graph::Combine::combine ? reduce->fold() : Fold(combine); }
  ir::Element element() const { return reduce->element; }  // the type in which it accumulates
};

struct Reduction {
  Expr value;
  int pass = 1;
  Policy policy = Policy::deferred;
  bool is_only_reference = false;      // no output depends on its value
  std::vector<AccumulatorTerm> terms;  // its value when the pass has ended
  std::optional<double> constant;      // the reference, if the policy is constant

  bool is_computed() const { return policy != Policy::constant && policy != Policy::unused; }
};

/// Whether a computed reduction is a term of the accumulator. Other accumulators only provide constants, or moves of accumulators.
bool is_read(std::span<const Reduction>, int accumulator);

}  // namespace tilewright::passes::fusion
