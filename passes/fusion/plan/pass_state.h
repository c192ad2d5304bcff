// How the state of a plan's loop is updated with a tile or with other states: a single list of steps, which the loop over tiles, the merge
// of partial states and the exact check follow.
//
// A state consists of a pass's accumulators and their current references. It is updated reduction by reduction, in order: the
// accumulators of one move to the current references and are combined with what is new, and its value becomes a reference of later ones.
//
//   attention:  T0 = max;  refer to r0 = T0;  T1: moves by the change of exp(-r0), then sum;  T2: the same as T1
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "passes/fusion/expr/expr.h"
#include "passes/fusion/plan/accumulators.h"

namespace tilewright::passes::fusion {

struct UpdateStep {
  enum class Kind : std::uint8_t {
    accumulate,  // the accumulator moves to the current references, and is combined with what is new
    refer,       // the value of the reduction so far becomes its reference
    shift,       // the shift reference takes the value that follows from the reductions so far
  };
  Kind kind{};
  int index = -1;  // index, in the plan, of the accumulator or the reduction
  Expr shift;
  bool is_extrapolated = false;    // shift: sums so far count as they would if all positions were like those so far
  bool moves_by_shifts = false;    // accumulate: first moves by the change of its shift references
  bool moves_by_exponent = false;  // accumulate: then moves by the change of its exponent
};

/// The state of one pass.
struct PassState {
  std::vector<int> accumulators;     // the accumulators that a reduction needs, and those to which they move
  std::vector<Expr> rolling_shifts;  // shift references that move together with a maximum
  std::vector<Expr> fixed_shifts;    // other shift references: estimated once, before the loop
  std::vector<UpdateStep> steps;
};

/// The shift references that are the value so far; among them those that are averages of all positions, for which the sum so far is extrapolated.
struct RollingShifts {
  ExprSet all, averages;
};

/// The state of a pass, made of the plan's reductions and accumulators.
PassState pass_state(std::span<const Reduction>, std::span<const Accumulator>, const RollingShifts&, int pass);

}  // namespace tilewright::passes::fusion
