// Target machines, LLVM's pass managers and the emission of files.
#include "backend/llvm_codegen.h"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/PassRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

#include "tileir/diagnostics.h"

namespace tilewright::backend {

std::unique_ptr<llvm::TargetMachine> create_target_machine(const std::string& triple, const std::string& cpu, const std::string& features,
                                                           std::optional<llvm::CodeModel::Model> model, bool is_jit) {
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  TW_CHECK(target != nullptr, error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, cpu, features, options, llvm::Reloc::PIC_, model, llvm::CodeGenOptLevel::Default, is_jit));
  TW_CHECK(machine != nullptr, "LLVM has no machine for " + triple);
  return machine;
}

void run_function_passes(llvm::Module& m, llvm::TargetMachine& machine, llvm::FunctionPassManager& passes) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  for (llvm::Function& f : m)
    if (!f.isDeclaration()) passes.run(f, functions);
}

namespace {

/// Adds the passes of a code generator to a pass manager, except for some. LLVM's own switches for that are options of the process, which
/// hold for every target.
class PassesExcept final : public llvm::legacy::PassManagerBase {
 public:
  PassesExcept(llvm::legacy::PassManager& passes, std::span<const std::string_view> left_out) : passes_(passes), left_out_(left_out) {}

  void add(llvm::Pass* pass) override {
    const llvm::PassInfo* info = llvm::PassRegistry::getPassRegistry()->getPassInfo(pass->getPassID());
    if (!info || std::find(left_out_.begin(), left_out_.end(), std::string_view(info->getPassArgument())) == left_out_.end())
      return passes_.add(pass);
    ++count_;
    delete pass;
  }
  std::size_t count() const { return count_; }

 private:
  llvm::legacy::PassManager& passes_;
  const std::span<const std::string_view> left_out_;
  std::size_t count_ = 0;
};

}  // namespace

llvm::SmallString<0> emit_file(llvm::Module& m, llvm::TargetMachine& machine, llvm::CodeGenFileType type,
                               std::span<const std::string_view> left_out) {
  llvm::SmallString<0> out;
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager passes;
  PassesExcept most(passes, left_out);
  TW_CHECK(!machine.addPassesToEmitFile(most, stream, nullptr, type), "LLVM cannot emit this kind of file");
  TW_CHECK(most.count() == left_out.size(), "LLVM's code generator lacks a pass that is to be left out of it");
  passes.run(m);
  return out;
}

}  // namespace tilewright::backend
