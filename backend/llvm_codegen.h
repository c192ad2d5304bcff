// The uses of LLVM that the code generation of all targets has in common.
#pragma once
#include <llvm/ADT/SmallString.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tilewright::backend {

/// A machine that does not contract arithmetic, since tile IR decides that. Requires: LLVM's code generator for the triple is initialised.
std::unique_ptr<llvm::TargetMachine> create_target_machine(const std::string& triple, const std::string& cpu, const std::string& features,
                                                           std::optional<llvm::CodeModel::Model> = std::nullopt, bool is_jit = false);

/// Runs the passes on each function that the module defines.
void run_function_passes(llvm::Module&, llvm::TargetMachine&, llvm::FunctionPassManager&);

/// Emits an object file or assembly. Changes the module. `left_out`: passes of the code generator that are not run, each by the name it has in
/// LLVM's registry; each of them must be one that the code generator runs once.
llvm::SmallString<0> emit_file(llvm::Module&, llvm::TargetMachine&, llvm::CodeGenFileType, std::span<const std::string_view> left_out = {});

}  // namespace tilewright::backend
