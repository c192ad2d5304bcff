// Compiles a function of tile IR to a CompiledKernel.
#pragma once
#include <string>

#include "backend/compile_options.h"
#include "backend/compiled_kernel.h"
#include "tileir/ir.h"
#include "tileir/target/target_desc.h"

namespace tilewright::backend {

/// The facts of a target. Throws Error for an unknown name.
ir::TargetDesc describe_target(const std::string& target);

/// Runs the target's pipeline on a verified function and generates code. Throws Error if the target does not support the function. For a
/// distributed function (of a GPU), only the passes that assign shared memory and insert barriers are run.
CompiledKernel compile(ir::Function, const CompileOptions&, const CompileHooks& = {});

}  // namespace tilewright::backend
