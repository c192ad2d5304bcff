// Which values control flow hands on unchanged: they lie alike.
#pragma once
#include <vector>

#include "passes/ir_names.h"

namespace tilewright::passes {

/// The values that are one variable of a for, while or if: what it starts with, the arguments of regions, what regions end with and the
/// result. For a while its carried variables, then its forwarded ones (whose results they are).
std::vector<std::vector<ir::ValueId>> loop_carried_values(const ir::Function&, ir::OpId);

}  // namespace tilewright::passes
