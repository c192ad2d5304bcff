// The uses of LLVM that the code generation of all targets has in common.
#pragma once
#include <llvm/ADT/SmallString.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <optional>
#include <string>

namespace tilewright::backend {

/// A machine that does not contract arithmetic, since tile IR decides that. Requires: LLVM's code generator for the triple is initialised.
std::unique_ptr<llvm::TargetMachine> create_target_machine(const std::string& triple, const std::string& cpu, const std::string& features,
                                                           std::optional<llvm::CodeModel::Model> = std::nullopt, bool is_jit = false);

/// Runs the passes on each function that the module defines.
void run_function_passes(llvm::Module&, llvm::TargetMachine&, llvm::FunctionPassManager&);

/// Emits an object file or assembly. Changes the module.
llvm::SmallString<0> emit_file(llvm::Module&, llvm::TargetMachine&, llvm::CodeGenFileType);

}  // namespace tilewright::backend
