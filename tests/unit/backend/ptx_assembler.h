// Assembles emitted PTX with ptxas, if installed; without it, tests check the text only.
#pragma once
#include <string>
#include <string_view>

#include "backend/compiled_kernel.h"
#include "tileir/ir.h"

namespace tilewright::backend::testing {

/// The errors of ptxas for the text. Empty if it accepts the text or is not installed (which is reported once).
std::string ptxas_complaints(const std::string& ptx, const std::string& target);

/// The kernel's PTX, after a check that it calls nothing, keeps nothing in local memory and assembles.
std::string checked_ptx(const CompiledKernel&);
/// Compiles the function, or the first of the text, for a target.
CompiledKernel compile_for(ir::Function, const std::string& target, int num_warps = 4, bool check = false);
CompiledKernel compile_for(std::string_view tile, const std::string& target, int num_warps = 4, bool check = false);

/// How often a piece stands in a text.
int count(std::string_view text, std::string_view piece);

}  // namespace tilewright::backend::testing
