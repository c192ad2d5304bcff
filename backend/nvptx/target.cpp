// The table of targets, and LLVM's pipeline for them.
#include "backend/nvptx/target.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>

#include <mutex>

#include "backend/llvm_codegen.h"
#include "backend/llvm_errors.h"
#include "backend/nvptx/assembler_bugs.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::nvptx {

namespace {

constexpr std::string_view kNames[] = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"};

/// CUDA C++ Programming Guide, "Compute Capabilities", technical specifications per compute capability.
struct Facts {
  std::string_view name;
  int sm, shared_kib, warps_per_sm;
};
constexpr Facts kFacts[] = {
    {"sm_75", 75, 64, 32}, {"sm_80", 80, 163, 64}, {"sm_86", 86, 99, 48},
    {"sm_89", 89, 99, 48}, {"sm_90", 90, 227, 64}, {"sm_90a", 90, 227, 64},
};

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

std::span<const std::string_view> targets() { return kNames; }

std::optional<ir::TargetDesc> describe(std::string_view target) {
  for (const Facts& facts : kFacts) {
    if (facts.name != target) continue;
    ir::TargetDesc d;
    d.name = target;
    d.kind = ir::TargetDesc::Kind::nvptx;
    d.vector_bits = 128;
    d.has_fma = true;
    d.has_f16_conversion = true;
    d.has_masked_memory = true;
    d.sm = facts.sm;
    d.has_wgmma = target == "sm_90a";
    d.shared_bytes = facts.shared_kib * 1024;
    d.warps_per_sm = facts.warps_per_sm;
    return d;
  }
  return std::nullopt;
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(const std::string& target, int ptx_version) {
  initialise_llvm();
  // add.rn and mul.rn, which ptxas does not contract.
  return create_target_machine("nvptx64-nvidia-cuda", target, "+ptx" + std::to_string(ptx_version));
}

namespace {

/// LLVM 19 gives 1 for a signed bit that is set, where it means -1; the optimiser makes such conversions.
void select_signed_bits(llvm::Function& f) {
  for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::instructions(f))) {
    if (i.getOpcode() != llvm::Instruction::SIToFP || !i.getOperand(0)->getType()->isIntOrIntVectorTy(1)) continue;
    llvm::IRBuilder<> b(&i);
    i.replaceAllUsesWith(
        b.CreateSelect(i.getOperand(0), llvm::ConstantFP::get(i.getType(), -1.0), llvm::ConstantFP::get(i.getType(), 0.0)));
    i.eraseFromParent();
  }
}

/// LLVM 19's SelectionDAG::getMDNode makes a node of the !srcloc of each inline assembly, which FoldingSet never finds again, and first
/// looks through all those of the block with the same one: none, mostly, so that time grows with the square of their number: half of what
/// sorting a tile of a million elements took. Nobody reads it.
void tell_inline_assembly_apart(llvm::Function& f) {
  for (llvm::Instruction& i : llvm::instructions(f))
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&i); call && call->isInlineAsm())
      i.setMetadata("srcloc", llvm::MDNode::getDistinct(f.getContext(), {}));
}

}  // namespace

void optimise(llvm::Module& m, llvm::TargetMachine& machine) {
  llvm::FunctionPassManager passes;
  // Registers of one tile compute the same addresses and masks over and over. InstCombine would undo how index_arithmetic adds them up.
  passes.addPass(llvm::EarlyCSEPass());
  run_function_passes(m, machine, passes);
  for (llvm::Function& f : m) select_signed_bits(f);
}

std::string emit_ptx(llvm::Module& m, llvm::TargetMachine& machine) {
  for (llvm::Function& f : m) tell_inline_assembly_apart(f);
  return avoid_assembler_bugs(std::string(emit_file(m, machine, llvm::CodeGenFileType::AssemblyFile).str()));
}

}  // namespace tilewright::backend::nvptx
