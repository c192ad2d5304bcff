// From a traced function to a CompiledKernel, phase by phase.
#include "backend/compile.h"

#include <fmt/format.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <chrono>

#include "backend/host/emit_object.h"
#include "backend/host/lowering.h"
#include "backend/llvm_errors.h"
#include "backend/nvptx/lowering.h"
#include "backend/nvptx/target.h"
#include "passes/analysis/register_pressure.h"
#include "passes/analysis/shared_scratch.h"
#include "passes/debug/leave_reproducer.h"
#include "passes/pass_manager.h"
#include "tileir/diagnostics.h"
#include "tileir/text/printer.h"

namespace tilewright::backend {

namespace {

/// Adds the time since its construction as a phase.
class Phase {
 public:
  Phase(std::vector<PhaseTiming>& timings, std::string name) : timings_(timings), name_(std::move(name)) {}
  ~Phase() { timings_.push_back({name_, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count()}); }

 private:
  std::vector<PhaseTiming>& timings_;
  std::string name_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::string text_of(const llvm::Module& m) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  m.print(stream, nullptr);
  return text;
}

/// What is lowered: tile IR after all passes, and for which target.
struct Lowered {
  const ir::Function& function;
  const std::string& target;

  static void describe(const void* subject, std::string_view, BugReport& report) {
    const auto& self = *static_cast<const Lowered*>(subject);
    report.text += fmt::format("\n  in the lowering of kernel '{}' for {}", self.function.name, self.target);
    passes::leave_reproducer(self.function, "lowering", fmt::format("after all passes for {}", self.target), report);
  }
};

void run_pipeline(ir::Function& f, const ir::TargetDesc& target, const CompileOptions& options, const CompileHooks& hooks) {
  passes::PassContext context{target, options.contract, options.check, options.num_warps};
  passes::RunOptions run;
  if (hooks.dump)
    run.dump = [&](const std::string& stage, const ir::Function& at) { hooks.dump(stage, ir::print(at, {.locations = true})); };
  auto names = passes::pipeline(target);
  if (f.is_distributed()) names.erase(names.begin(), std::find(names.begin(), names.end(), "allocate_shared"));
  passes::run_passes(f, names, context, run);
}

CompiledKernel compile_host(ir::Function f, const CompileOptions& options, const CompileHooks& hooks) {
  CompiledKernel out;
  out.name = f.name;
  out.entry = "tilewright_entry";
  out.target = options.target;
  out.format = CompiledKernel::Format::elf;
  for (ir::ValueId v : f.block(f.body()).args) out.params.push_back(f.type(v));
  const host::Machine machine = host::machine_of(options.target);
  {
    Phase phase(out.timings, "passes");
    run_pipeline(f, machine.description, options, hooks);
  }
  if (hooks.keep_text) out.tile_ir = ir::print(f);
  const Lowered lowered{f, options.target};
  const BugContext context("the lowering", &lowered, Lowered::describe);
  llvm::LLVMContext llvm_context;
  const LlvmErrors errors(llvm_context);
  llvm::Module module(f.name, llvm_context);
  std::unique_ptr<llvm::TargetMachine> target;
  {
    Phase phase(out.timings, "lowering");
    target = host::make_target_machine(machine);
    module.setDataLayout(target->createDataLayout());
    module.setTargetTriple(target->getTargetTriple().str());
    host::HostLowering lowering(module, f, machine.description, options.check);
    lowering.run(out.entry);
    out.scratch_bytes = static_cast<std::size_t>(lowering.scratch_bytes());
    // Without the scheduler after register allocation, which compares every two accesses of a block: a third of the time for large blocks.
    if (lowering.is_outlined()) target->setOptLevel(llvm::CodeGenOptLevel::Less);
    out.sites = lowering.sites();
    out.reports = lowering.reports();
    std::string broken;
    llvm::raw_string_ostream stream(broken);
    if (llvm::verifyModule(module, &stream)) TW_UNREACHABLE("the lowering made wrong LLVM IR: " + broken);
  }
  {
    Phase phase(out.timings, "llvm");
    host::optimise(module, *target);
    if (hooks.keep_text || hooks.dump) {
      out.llvm_ir = text_of(module);
      out.assembly = host::emit_assembly(module, *target);
      if (hooks.dump) hooks.dump("llvm", out.llvm_ir), hooks.dump("assembly", out.assembly);
    }
    if (!hooks.text_only) out.image = host::emit_object(module, *target);
    errors.expect_none();
  }
  return out;
}

/// The end of the scratch that allocate_shared gave out.
std::int64_t shared_bytes(const ir::Function& f, const ir::TargetDesc& target, int num_warps) {
  std::int64_t end = 0;
  f.walk([&](ir::OpId id) {
    if (const std::int64_t bytes = passes::shared_scratch(f, id, target, num_warps))
      end = std::max(end, f.attr(id, ir::AttrName::shared) + bytes);
  });
  return end;
}

CompiledKernel compile_nvptx(ir::Function f, const ir::TargetDesc& target, const CompileOptions& options, const CompileHooks& hooks) {
  CompiledKernel out;
  out.name = f.name;
  out.entry = f.name;
  out.target = options.target;
  out.format = CompiledKernel::Format::ptx;
  for (ir::ValueId v : f.block(f.body()).args) out.params.push_back(f.type(v));
  {
    Phase phase(out.timings, "passes");
    run_pipeline(f, target, options, hooks);
  }
  if (hooks.keep_text) out.tile_ir = ir::print(f);
  const Lowered lowered{f, options.target};
  const BugContext context("the lowering", &lowered, Lowered::describe);
  llvm::LLVMContext llvm_context;
  const LlvmErrors errors(llvm_context);
  llvm::Module module(f.name, llvm_context);
  std::unique_ptr<llvm::TargetMachine> machine;
  {
    Phase phase(out.timings, "lowering");
    machine = nvptx::make_target_machine(options.target, options.ptx_version ? options.ptx_version : nvptx::kPtxVersion);
    module.setDataLayout(machine->createDataLayout());
    module.setTargetTriple(machine->getTargetTriple().str());
    nvptx::NvptxLowering lowering(module, f, target, options.num_warps, options.check);
    const std::int64_t shared = shared_bytes(f, target, options.num_warps);
    lowering.run(out.entry, passes::blocks_per_sm(f, target, options.num_warps, shared));
    out.sites = lowering.sites();
    out.reports = lowering.reports();
    out.resources.num_warps = options.num_warps;
    out.resources.shared_bytes = static_cast<int>(shared);
    out.advice = passes::too_large(f, target, options.num_warps);
    std::string broken;
    llvm::raw_string_ostream stream(broken);
    if (llvm::verifyModule(module, &stream)) TW_UNREACHABLE("the lowering made wrong LLVM IR: " + broken);
  }
  std::string ptx;
  {
    Phase phase(out.timings, "llvm");
    nvptx::optimise(module, *machine);
  }
  if (hooks.keep_text || hooks.dump) {
    out.llvm_ir = text_of(module);
    if (hooks.dump) hooks.dump("llvm", out.llvm_ir);
  }
  {
    Phase phase(out.timings, "ptx");
    ptx = nvptx::emit_ptx(module, *machine);
    errors.expect_none();
  }
  if (hooks.keep_text) out.assembly = ptx;
  if (hooks.dump) hooks.dump("ptx", ptx);
  const auto* bytes = reinterpret_cast<const std::byte*>(ptx.data());
  out.image.assign(bytes, bytes + ptx.size());
  return out;
}

}  // namespace

ir::TargetDesc describe_target(const std::string& target) {
  if (const auto gpu = nvptx::describe(target)) return *gpu;
  return host::machine_of(target).description;
}

CompiledKernel compile(ir::Function f, const CompileOptions& options, const CompileHooks& hooks) {
  if (const auto gpu = nvptx::describe(options.target)) return compile_nvptx(std::move(f), *gpu, options, hooks);
  return compile_host(std::move(f), options, hooks);
}

}  // namespace tilewright::backend
