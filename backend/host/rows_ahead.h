// Rows of tiles that the next iterations of a loop load.
#pragma once
#include "backend/host/evaluation_plan.h"
#include "passes/analysis/axis_info.h"

namespace tilewright::backend::host {

/// Whether a loop runs down a matrix, or along a vector: the load's tile has rank 2 or 1, and its addresses in the next iteration of the
/// loop around it are those that more rows of the tile would have in this one. So the address of a later row is that of an element which is
/// loaded later.
bool continues_down(const Function&, const EvaluationPlan&, const passes::AxisInfoAnalysis&, OpId load);

}  // namespace tilewright::backend::host
