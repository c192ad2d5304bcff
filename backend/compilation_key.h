// The key of a compilation in the disk cache: all that the compiled code depends on.
#pragma once
#include <cstddef>
#include <vector>

#include "backend/compile.h"

namespace tilewright::backend {

/// The function as it was traced, the options, the processor that the target names on this machine, and the build of the compiler. Empty if
/// the build cannot be told from others (no build id): nothing may then be kept. Throws Error for a target that is none.
std::vector<std::byte> compilation_key(const ir::Function&, const CompileOptions&);

}  // namespace tilewright::backend
