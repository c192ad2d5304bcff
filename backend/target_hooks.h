// The interface through which the compilation of a kernel uses its target, a host or an NVIDIA GPU.
#pragma once
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>
#include <string_view>

#include "backend/compile_options.h"
#include "backend/compiled_kernel.h"
#include "tileir/ir.h"
#include "tileir/target/target_desc.h"

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
  /// LLVM's names of the processor and its features for which code is generated; the target's name alone does not determine them.
  virtual std::string processor() const = 0;
  /// The symbol of a kernel's entry point.
  virtual std::string entry_of(const ir::Function&) const = 0;
  virtual std::unique_ptr<llvm::TargetMachine> make_machine(const ir::Function&, const CompileOptions&) const = 0;
  /// Lowers a function on which the target's pipeline has run: emits `kernel.entry` into the module and sets in `kernel` what a launch must
  /// know. `plans`: the lowering plans from the pipeline. May change how the machine generates code.
  virtual void lower(const ir::Function&, passes::PlanCache& plans, const CompileOptions&, llvm::Module&, llvm::TargetMachine&,
                     CompiledKernel& kernel) const = 0;
  /// Runs those few of LLVM's optimisations that are worth their time for the code that `lower` emits.
  virtual void optimise(llvm::Module&, llvm::TargetMachine&) const = 0;
  /// The name of the generated text, which is the name of its stage among the dumps.
  virtual std::string_view text_name() const = 0;
  /// The name of the phase that generates code.
  virtual std::string_view emission_name() const = 0;
  /// Generates code: the kernel's image, unless only text is asked for, and its assembly if text is asked for.
  virtual void emit(llvm::Module&, llvm::TargetMachine&, const CompileHooks&, CompiledKernel&) const = 0;

 private:
  ir::TargetDesc description_;
};

}  // namespace tilewright::backend
