// The key of a compilation in the disk cache: everything that the compiled code depends on.
#pragma once
#include <cstddef>
#include <vector>

#include "backend/compile_options.h"
#include "tileir/ir.h"

namespace tilewright::backend {

/// Encodes the traced function, the options, the processor that the target names on this machine, and the build of the compiler. Empty if
/// the build cannot be identified (no build id): then nothing may be cached. Throws Error for an unknown target.
std::vector<std::byte> compilation_key(const ir::Function&, const CompileOptions&);

}  // namespace tilewright::backend
