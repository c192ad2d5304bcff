// Reproducers: files with the tile IR that a report of a compiler bug refers to.
#pragma once
#include <string_view>

#include "passes/ir_names.h"
#include "tileir/diagnostics.h"

namespace tilewright::passes {

/// Writes the function, after a line "// <how>", to a new file in the folder for temporary files, and adds its path to the report. `stage`:
/// a part of the file's name. Adds nothing if the file cannot be written or the report already has a reproducer.
void leave_reproducer(const ir::Function&, std::string_view stage, std::string_view how, BugReport&);

}  // namespace tilewright::passes
