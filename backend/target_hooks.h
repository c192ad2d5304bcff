// What the compilation of a kernel asks of its target, a host or an NVIDIA GPU.
#pragma once
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>
#include <string_view>

#include "backend/compile.h"

namespace tilewright::passes {
class PlanCache;
}

namespace tilewright::backend {

/// One target. compile.cpp calls the methods in the order in which they are declared.
class TargetHooks {
 public:
  explicit TargetHooks(ir::TargetDesc description) : description_(std::move(description)) {}
  virtual ~TargetHooks() = default;
  const ir::TargetDesc& description() const { return description_; }

  virtual CompiledKernel::Format format() const = 0;
  /// LLVM's names of the processor and its features for which code is generated: what the name of a target leaves open.
  virtual std::string processor() const = 0;
  /// The symbol of a kernel's entry point.
  virtual std::string entry_of(const ir::Function&) const = 0;
  virtual std::unique_ptr<llvm::TargetMachine> make_machine(const ir::Function&, const CompileOptions&) const = 0;
  /// Lowers a function that the target's pipeline has run on: emits `kernel.entry` into the module and says in `kernel` what a launch has
  /// to know of it. `plans`: the lowering plans that the pipeline has left. May change how the machine generates code.
  virtual void lower(const ir::Function&, passes::PlanCache& plans, const CompileOptions&, llvm::Module&, llvm::TargetMachine&,
                     CompiledKernel& kernel) const = 0;
  /// Runs the few of LLVM's optimisations that pay for what `lower` emits.
  virtual void optimise(llvm::Module&, llvm::TargetMachine&) const = 0;
  /// The name of the code's text: of its stage among the dumps.
  virtual std::string_view text_name() const = 0;
  /// The name of the phase that generates code.
  virtual std::string_view emission_name() const = 0;
  /// Generates code: the kernel's image, unless only text is asked for, and its assembly if text is asked for.
  virtual void emit(llvm::Module&, llvm::TargetMachine&, const CompileHooks&, CompiledKernel&) const = 0;

 private:
  ir::TargetDesc description_;
};

/// Throws Error for a name that is none.
std::unique_ptr<TargetHooks> find_target(const std::string& name);

}  // namespace tilewright::backend
