// Names policies, and finds which accumulators are read.
#include "passes/fusion/plan/accumulators.h"

namespace tilewright::passes::fusion {

std::string_view text(Policy p) {
  switch (p) {
    case Policy::complete: return "complete";
    case Policy::deferred: return "deferred";
    case Policy::rolling: return "rolling";
    case Policy::shifted: return "shifted";
    case Policy::constant: return "constant";
    case Policy::unused: return "unused";
  }
  return "";
}

bool is_read(std::span<const Reduction> reductions, int accumulator) {
  for (const Reduction& r : reductions)
    for (const AccumulatorTerm& t : r.terms)
      if (t.accumulator == accumulator && r.is_computed()) return true;
  return false;
}

}  // namespace tilewright::passes::fusion
