// Region iteration arguments: values that control flow passes on unchanged, and that therefore have one layout.
#pragma once
#include <vector>

#include "passes/ir_names.h"

namespace tilewright::passes {

/// For each variable of a for, while or if, its values: the initial operand, the arguments of regions, the operands of terminators and the
/// result. Those of a while are first the carried variables, then the forwarded ones.
std::vector<std::vector<ir::ValueId>> loop_carried_values(const ir::Function&, ir::OpId);

}  // namespace tilewright::passes
