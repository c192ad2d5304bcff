// The reference semantics of tile IR, slow and obvious: programs run one at a time, on the host's own memory.
#pragma once
#include <cstdint>
#include <span>

#include "tileir/interpreter/interpret_options.h"
#include "tileir/ir.h"

namespace tilewright::ir {

/// Runs every program of the grid, in order of the linear program id (axis 0 fastest). `arguments`: one word a parameter.
void interpret(const Function&, std::span<const std::uint64_t> arguments, const InterpretOptions& = {});

}  // namespace tilewright::ir
