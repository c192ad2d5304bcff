// Small tiles whose elements stay in registers (SSA values) instead of a buffer.
#pragma once
#include "backend/host/evaluation_plan.h"

namespace tilewright::backend::host {

/// Decides which classes of an evaluation plan need no memory, and marks the loop nests that access them as unrolled: the elements of such a
/// tile are numbered by constants. A class is in registers if it is written and read in loops (a for or while), if all of it fits in half of
/// the processor's registers, and if only loop nests and control flow access it: nests that are short when unrolled, and that read whole
/// vectors of neighbours, or single elements.
void choose_register_tiles(EvaluationPlan&);

}  // namespace tilewright::backend::host
