// Target machines, LLVM's pass managers and the emission of files.
#include "backend/llvm_codegen.h"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>

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

llvm::SmallString<0> emit_file(llvm::Module& m, llvm::TargetMachine& machine, llvm::CodeGenFileType type) {
  llvm::SmallString<0> out;
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager passes;
  TW_CHECK(!machine.addPassesToEmitFile(passes, stream, nullptr, type), "LLVM cannot emit this kind of file");
  passes.run(m);
  return out;
}

}  // namespace tilewright::backend
