// How the state of a plan's loop takes in a tile or other states: one list of steps, which the loop over tiles, the merge of partial states
// and the exact check follow.
//
// A state is the accumulators of a pass with the references at which they are. To take something in, reductions come in their order: the
// accumulators of one move to the references so far and are combined with what comes in, and its value is a reference of those that follow.
//
//   attention:  T0 = max;  refer to r0 = T0;  T1: moves by the change of exp(-r0), then sum;  T2: likewise
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "passes/fusion/expr/expr.h"

namespace tilewright::passes::fusion {

class Plan;

struct AbsorbStep {
  enum class Kind : std::uint8_t {
    accumulate,  // the accumulator moves to the references so far, and is combined with what comes in
    refer,       // the value of the reduction so far becomes its reference
    shift,       // the shift reference takes the value that it has for the reductions so far
  };
  Kind kind{};
  int index = -1;  // of the accumulator or the reduction in the plan
  Expr shift;
  bool moves_by_shifts = false;    // accumulate: first by the change of its shift references
  bool moves_by_exponent = false;  // accumulate: then by that of its exponent
};

/// The state of one pass.
struct PassState {
  std::vector<int> accumulators;     // those that a reduction needs, and those that they move to
  std::vector<Expr> rolling_shifts;  // shift references that move with a maximum
  std::vector<Expr> fixed_shifts;    // the others: estimated once, before the loop
  std::vector<AbsorbStep> steps;
};

PassState pass_state(const Plan&, int pass);

/// The merge of two states as text for people.
std::string merge_text(const Plan&, int pass);

}  // namespace tilewright::passes::fusion
