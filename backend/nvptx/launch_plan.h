// The launch plan of a kernel: its tensor maps, as parameters that the host makes at each launch.
#pragma once
#include <vector>

#include "backend/launch_recipe.h"
#include "tileir/ir.h"

namespace tilewright::backend::nvptx {

/// The make_tensor_map ops of a function. Parameter i that the host makes is the map of op i.
std::vector<ir::OpId> tensor_maps(const ir::Function&);

/// The plan that makes the maps. Throws Error, at an op, if the host would compute too many numbers or pass too many bytes.
LaunchPlan launch_plan(const ir::Function&);

}  // namespace tilewright::backend::nvptx
