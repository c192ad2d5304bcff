// LLVM IR to a relocatable object of the host.
#pragma once
#include <llvm/IR/Module.h>

#include <memory>
#include <string>
#include <vector>

#include "backend/compile.h"

namespace llvm {
class TargetMachine;
}

namespace tilewright::backend::host {

/// What code may use: LLVM's names of a CPU and of its features.
struct Machine {
  std::string cpu, features;
  ir::TargetDesc description;
};

/// "cpu" (this machine) or "cpu:x86-64", "cpu:x86-64-v3", "cpu:x86-64-v4". Throws Error for another name.
Machine machine_of(const std::string& target);

std::unique_ptr<llvm::TargetMachine> make_target_machine(const Machine&);

/// The object's bytes. Changes the module (it is optimised in place).
std::vector<std::byte> emit_object(llvm::Module&, llvm::TargetMachine&);
std::string emit_assembly(const llvm::Module&, llvm::TargetMachine&);
/// The few mid-level passes that pay for themselves on what the lowering makes.
void optimise(llvm::Module&, llvm::TargetMachine&);

}  // namespace tilewright::backend::host
