// The targets of the host, and LLVM's code generation for them.
#include "backend/host/target.h"

#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SCCP.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>

#include "backend/host/lowering.h"
#include "backend/llvm_codegen.h"
#include "backend/llvm_errors.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::host {

namespace {

/// The passes of LLVM's code generator that are not run.
constexpr std::string_view kLeftOutPasses[] = {
    // Loop Strength Reduction takes a quarter to a third of the time and gains nothing: the addresses of a loop nest are already sums of an
    // index and what is the same for the loop, which addressing modes hold.
    "loop-reduce",
    // This prepares for Loop Strength Reduction, and computes how often each loop runs for it.
    "canon-freeze",
    // A loop nest already has what does not depend on its index before it. What is left are constants and addresses, which instructions hold
    // as operands; in registers, the allocator would have to split their live ranges around many loops.
    "early-machinelicm",
    // Processors that execute out of order gain nothing from another order than the scheduler before register allocation has found.
    "post-RA-sched",
    // This moves integer code to mask registers, which holds no code of loop nests.
    "x86-domain-reassignment",
    // LLVM 19's X86AvoidStoreForwardingBlocks asks each load for its size, and ends the process if a load is masked (unknown size).
    "x86-avoid-SFB",
};

void initialise_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    install_fatal_error_handler();
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
  });
}

struct Level {
  const char* target;
  const char* cpu;
  int vector_bits;
  bool fma;
  bool f16c;
  bool masked;
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
  // Four vectors take three steps between vectors, for two steps inside of the last one: more vectors make more code and save little.
  d.reduction.block = 4 * d.lanes();
}

/// Asks Linux for the tile registers of AMX, which a process may use only with its permission (Documentation/arch/x86/xstate.rst).
bool may_use_tile_registers() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  static const bool is_granted = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return is_granted;
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
    throw Error({}, "target '" + target + "': it is not a target; there are cpu, cpu:x86-64, cpu:x86-64-v3, cpu:x86-64-v4, " +
                        "sm_75, sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_120");
  }
  m.cpu = llvm::sys::getHostCPUName().str();
  const auto features = llvm::sys::getHostCPUFeatures();
  for (const auto& feature : features)
    m.features += (m.features.empty() ? "" : ",") + std::string(feature.second ? "+" : "-") + feature.first().str();
  const auto has = [&](const char* name) { return features.lookup(name); };
  const bool avx512 = has("avx512f") && has("avx512vl") && has("avx512bw") && has("avx512dq");
  const bool avx2 = has("avx2") && has("fma");
  describe(m, target, avx512 ? 512 : avx2 ? 256 : 128, has("fma"), has("f16c") && has("avx"), avx2);
  m.products.four_bytes = avx512 ? has("avx512vnni") : avx2 && has("avxvnni");
  const bool tiles = avx512 && has("amx-tile") && may_use_tile_registers();
  m.products.byte_tiles = tiles && has("amx-int8");
  m.products.bf16_tiles = tiles && has("amx-bf16");
  m.description.reduction.has_bf16_blocks = m.products.bf16_tiles;
  // Features are part of the key of compiled kernels.
  if (!tiles) m.features += ",-amx-tile,-amx-int8,-amx-bf16";
  return m;
}

namespace {

class HostHooks final : public TargetHooks {
 public:
  explicit HostHooks(const Machine& m) : TargetHooks(m.description), machine_(m) {}

  CompiledKernel::Format format() const override { return CompiledKernel::Format::elf; }
  std::string processor() const override { return machine_.cpu + ' ' + machine_.features; }
  std::string entry_of(const ir::Function&) const override { return "tilewright_entry"; }

  std::unique_ptr<llvm::TargetMachine> make_machine(const ir::Function&, const CompileOptions&) const override {
    initialise_llvm();
    return create_target_machine(llvm::sys::getProcessTriple(), machine_.cpu, machine_.features, llvm::CodeModel::Small, /*is_jit=*/true);
  }

  void lower(const ir::Function& f, passes::PlanCache&, const CompileOptions& options, llvm::Module& m, llvm::TargetMachine& machine,
             CompiledKernel& kernel) const override {
    LoweredFunction lowered = host::lower(m, f, machine_, options.check, kernel.entry);
    kernel.scratch_bytes = static_cast<std::size_t>(lowered.scratch_bytes);
    kernel.sites = std::move(lowered.sites);
    kernel.reports = std::move(lowered.reports);
    // Large functions take a seventh less time at this level (measured on Zen 5, 2026-12-01: tests of large functions 5.3 instead of 6.2 s).
    if (lowered.is_outlined) machine.setOptLevel(llvm::CodeGenOptLevel::Less);
  }

  void optimise(llvm::Module& m, llvm::TargetMachine& machine) const override {
    llvm::FunctionPassManager passes;
    // A loop that turns out to run once has a constant index, and so constant masks. They must be folded here: for a constant mask x < 0,
    // LLVM 19's code generator uses x itself, of which only the sign matters, and then treats every nonzero x as true.
    passes.addPass(llvm::SCCPPass());
    passes.addPass(llvm::EarlyCSEPass());
    run_function_passes(m, machine, passes);
  }

  std::string_view text_name() const override { return "assembly"; }
  std::string_view emission_name() const override { return "llvm"; }

  void emit(llvm::Module& m, llvm::TargetMachine& machine, const CompileHooks& hooks, CompiledKernel& kernel) const override {
    if (hooks.keep_text || hooks.dump)
      kernel.assembly = emit_file(*llvm::CloneModule(m), machine, llvm::CodeGenFileType::AssemblyFile, kLeftOutPasses).str();
    if (hooks.text_only) return;
    const auto object = emit_file(m, machine, llvm::CodeGenFileType::ObjectFile, kLeftOutPasses);
    const auto* bytes = reinterpret_cast<const std::byte*>(object.data());
    kernel.image.assign(bytes, bytes + object.size());
  }

 private:
  const Machine machine_;
};

}  // namespace

std::unique_ptr<TargetHooks> hooks_of(const std::string& target) { return std::make_unique<HostHooks>(machine_of(target)); }

}  // namespace tilewright::backend::host
