// Targets of the host and LLVM's code generation for them.
#include "backend/host/emit_object.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/PassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SCCP.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <mutex>

#include "backend/llvm_errors.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::host {

namespace {

/// X86AvoidStoreForwardingBlocks of LLVM 19 asks a load for its size, and ends the process where that is a masked one's, which is not
/// known.
void disable_store_forwarding_pass() {
  const auto& options = llvm::cl::getRegisteredOptions();
  const auto it = options.find("x86-disable-avoid-SFB");
  TW_CHECK(it != options.end(), "LLVM lacks the option that turns off a pass of its own which aborts");
  static_cast<llvm::cl::opt<bool>*>(it->second)->setValue(true);
}

void initialise_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    install_fatal_error_handler();
    disable_store_forwarding_pass();
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
  });
}

struct Level {
  const char *target, *cpu;
  int vector_bits;
  bool fma, f16c, masked;
};
// The microarchitecture levels of the x86-64 psABI (version 1.0, section 3.1.1).
constexpr Level kLevels[] = {
    {"cpu:x86-64", "x86-64", 128, false, false, false},
    {"cpu:x86-64-v3", "x86-64-v3", 256, true, true, true},
    {"cpu:x86-64-v4", "x86-64-v4", 512, true, true, true},
};

void describe(Machine& m, const std::string& name, int vector_bits, bool fma, bool f16c, bool masked) {
  ir::TargetDesc& d = m.description;
  d.name = name;
  d.kind = ir::TargetDesc::Kind::host;
  d.vector_bits = vector_bits;
  d.has_fma = fma;
  d.has_f16_conversion = f16c;
  d.has_masked_memory = masked;
  // Two vectors of partials hide an addition's latency.
  d.reduction.lanes = 2 * d.lanes();
}

}  // namespace

Machine machine_of(const std::string& target) {
  Machine m;
  for (const Level& level : kLevels)
    if (target == level.target) {
      m.cpu = level.cpu;
      describe(m, target, level.vector_bits, level.fma, level.f16c, level.masked);
      return m;
    }
  if (target != "cpu") {
    throw Error({}, "target '" + target + "': it is no target; there are cpu, cpu:x86-64, cpu:x86-64-v3, cpu:x86-64-v4, " +
                        "sm_75, sm_80, sm_86, sm_89, sm_90, sm_90a");
  }
  m.cpu = llvm::sys::getHostCPUName().str();
  const auto features = llvm::sys::getHostCPUFeatures();
  for (const auto& feature : features)
    m.features += (m.features.empty() ? "" : ",") + std::string(feature.second ? "+" : "-") + feature.first().str();
  const auto has = [&](const char* name) { return features.lookup(name); };
  const bool wide = has("avx512f") && has("avx512vl") && has("avx512bw") && has("avx512dq"), avx2 = has("avx2") && has("fma");
  describe(m, target, wide ? 512 : avx2 ? 256 : 128, has("fma"), has("f16c") && has("avx"), avx2);
  return m;
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(const Machine& m) {
  initialise_llvm();
  const std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  TW_CHECK(target != nullptr, error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // contraction is decided in tile IR
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, m.cpu, m.features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, /*JIT=*/true));
  TW_CHECK(machine != nullptr, "LLVM has no machine for this host");
  return machine;
}

void optimise(llvm::Module& m, llvm::TargetMachine& machine) {
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
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass());
  // A loop that turns out to run once has a constant index, and so constant masks. Those must be known here: LLVM 19's code generator takes
  // a constant mask x < 0 for x, of which the sign counts, and then every x but 0 for a lane that is on.
  passes.addPass(llvm::SCCPPass());
  passes.addPass(llvm::EarlyCSEPass());
  for (llvm::Function& f : m)
    if (!f.isDeclaration()) passes.run(f, functions);
}

namespace {
llvm::SmallString<0> emit(llvm::Module& m, llvm::TargetMachine& machine, llvm::CodeGenFileType type) {
  llvm::SmallString<0> out;
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager passes;
  TW_CHECK(!machine.addPassesToEmitFile(passes, stream, nullptr, type), "LLVM cannot emit this kind of file");
  passes.run(m);
  return out;
}
}  // namespace

std::vector<std::byte> emit_object(llvm::Module& m, llvm::TargetMachine& machine) {
  const auto text = emit(m, machine, llvm::CodeGenFileType::ObjectFile);
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

std::string emit_assembly(const llvm::Module& m, llvm::TargetMachine& machine) {
  const auto copy = llvm::CloneModule(m);
  return std::string(emit(*copy, machine, llvm::CodeGenFileType::AssemblyFile).str());
}

}  // namespace tilewright::backend::host
