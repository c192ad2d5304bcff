// NVIDIA GPUs as targets: LLVM's code generation for them.
#pragma once
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>
#include <string_view>

#include "backend/target_hooks.h"
#include "tileir/target/target_desc.h"

namespace tilewright::backend::nvptx {

/// The oldest PTX ISA that has all emitted instructions, as 10 * major + minor (CUDA 12.0: 80).
inline constexpr int kPtxVersion = 80;

std::unique_ptr<llvm::TargetMachine> make_target_machine(const std::string& processor, int ptx_version);
/// Runs the few LLVM passes that are worth their time for a kernel with few branches.
void optimise(llvm::Module&, llvm::TargetMachine&);
std::string emit_ptx(llvm::Module&, llvm::TargetMachine&);

/// The hooks of a target; null if the name is not one of a GPU.
std::unique_ptr<TargetHooks> hooks_of(const std::string& target);

}  // namespace tilewright::backend::nvptx
