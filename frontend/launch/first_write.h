// Finds where a traced kernel writes through a parameter.
#pragma once
#include <cstddef>

#include "tileir/ir.h"

namespace tilewright::detail {

/// The first op, in program order, that may write memory through the pointer parameter: a store or an atomic whose address may derive from
/// it. None if there is no such op.
ir::OpId first_write(const ir::Function&, std::size_t parameter);

}  // namespace tilewright::detail
