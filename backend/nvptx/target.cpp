// LLVM's pipeline for NVIDIA GPUs.
#include "backend/nvptx/target.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>

#include <mutex>

#include "backend/llvm_codegen.h"
#include "backend/llvm_errors.h"
#include "backend/nvptx/assembler_bugs.h"

namespace tilewright::backend::nvptx {

namespace {

void initialise_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    install_fatal_error_handler();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

}  // namespace

std::unique_ptr<llvm::TargetMachine> make_target_machine(const std::string& processor, int ptx_version) {
  initialise_llvm();
  // ptxas does not contract add.rn and mul.rn, which this machine emits.
  return create_target_machine("nvptx64-nvidia-cuda", processor, "+ptx" + std::to_string(ptx_version));
}

namespace {

/// Replaces conversions of a signed bit to floating point, which the optimiser makes: LLVM 19 gives 1 for a set bit instead of -1.
void select_signed_bits(llvm::Function& f) {
  for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::instructions(f))) {
    if (i.getOpcode() != llvm::Instruction::SIToFP || !i.getOperand(0)->getType()->isIntOrIntVectorTy(1)) continue;
    llvm::IRBuilder<> b(&i);
    i.replaceAllUsesWith(
        b.CreateSelect(i.getOperand(0), llvm::ConstantFP::get(i.getType(), -1.0), llvm::ConstantFP::get(i.getType(), 0.0)));
    i.eraseFromParent();
  }
}

/// Gives each inline assembly its own !srcloc, which nothing reads. LLVM 19's SelectionDAG::getMDNode makes a node for the !srcloc of each
/// inline assembly (none by default) after a search through all nodes of the block with the same one, so that the time grows with the
/// square of their number: it was half of the compile time of a sort of a million elements.
void make_srclocs_distinct(llvm::Function& f) {
  for (llvm::Instruction& i : llvm::instructions(f))
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&i); call && call->isInlineAsm())
      i.setMetadata("srcloc", llvm::MDNode::getDistinct(f.getContext(), {}));
}

}  // namespace

void optimise(llvm::Module& m, llvm::TargetMachine& machine) {
  llvm::FunctionPassManager passes;
  // The registers of a tile compute many equal addresses and masks. InstCombine would undo the order of sums that index_arithmetic chooses.
  passes.addPass(llvm::EarlyCSEPass());
  run_function_passes(m, machine, passes);
  for (llvm::Function& f : m) select_signed_bits(f);
}

std::string emit_ptx(llvm::Module& m, llvm::TargetMachine& machine) {
  for (llvm::Function& f : m) make_srclocs_distinct(f);
  return avoid_assembler_bugs(std::string(emit_file(m, machine, llvm::CodeGenFileType::AssemblyFile).str()));
}

}  // namespace tilewright::backend::nvptx
