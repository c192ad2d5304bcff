// Compiles a traced function: the target's pipeline, lowering to LLVM IR, LLVM's optimisations, code generation.
#include "backend/compile.h"

#include <fmt/format.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <chrono>

#include "backend/find_target.h"
#include "backend/llvm_errors.h"
#include "backend/target_hooks.h"
#include "passes/debug/leave_reproducer.h"
#include "passes/pass_manager.h"
#include "passes/plans/lowering_plans.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"
#include "tileir/text/printer.h"

namespace tilewright::backend {

namespace {

/// Adds the time since its construction to the phase with this name.
class Phase {
 public:
  Phase(std::vector<PhaseTiming>& timings, std::string_view name) : timings_(timings), name_(name) {}
  ~Phase() {
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
    if (timings_.empty() || timings_.back().phase != name_)
      timings_.push_back({name_, ms});
    else
      timings_.back().ms += ms;
  }

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

/// The input of the lowering, for the report of a bug in it: tile IR after all passes, and the target.
struct Lowered {
  const ir::Function& function;
  const std::string& target;

  static void describe(const void* subject, std::string_view, BugReport& report) {
    const auto& self = *static_cast<const Lowered*>(subject);
    report.text += fmt::format("\n  in the lowering of kernel '{}' for {}", self.function.name, self.target);
    passes::leave_reproducer(self.function, "lowering", fmt::format("after all passes for {}", self.target), report);
  }
};

/// Runs the target's pipeline and leaves the lowering plans of the last passes in `plans`.
void run_pipeline(ir::Function& f, const ir::TargetDesc& target, const CompileOptions& options, const CompileHooks& hooks,
                  passes::PlanCache& plans, std::vector<passes::Remark>& remarks) {
  const passes::PassContext context{target, options.contract, options.check, options.num_warps, options.num_stages, &plans, &remarks};
  passes::RunOptions run;
  if (hooks.dump)
    run.dump = [&](const std::string& stage, const ir::Function& at) { hooks.dump(stage, ir::print(at, {.locations = true})); };
  passes::run_passes(f, passes::pipeline_for(f, target), context, run);
}

void verify(const llvm::Module& m) {
  std::string broken;
  llvm::raw_string_ostream stream(broken);
  if (llvm::verifyModule(m, &stream)) TW_UNREACHABLE("the lowering made wrong LLVM IR: " + broken);
}

}  // namespace

ir::TargetDesc describe_target(const std::string& target) { return find_target(target)->description(); }

namespace {

/// Layouts, and ops that only passes make, are for GPUs: throws Error if a host's function has them.
void refuse_ops_of_other_targets(const ir::Function& f, const ir::TargetDesc& target) {
  if (target.is_gpu()) return;
  f.walk([&](ir::OpId id) {
    if (ir::is_made_by_passes(f.kind(id)) || f.is_distributed())
      throw Error(f.where(id),
                  fmt::format("{}: this kernel was prepared for GPUs; {} compiles kernels as they were traced, without layouts",
                              ir::text(f.kind(id)), target.name));
  });
}

}  // namespace

CompiledKernel compile(ir::Function f, const CompileOptions& options, const CompileHooks& hooks) {
  const std::unique_ptr<TargetHooks> target = find_target(options.target);
  refuse_ops_of_other_targets(f, target->description());
  CompiledKernel out;
  out.name = f.name;
  out.entry = target->entry_of(f);
  out.target = options.target;
  out.format = target->format();
  for (ir::ValueId v : f.block(f.body()).args) out.params.push_back(f.type(v));
  passes::PlanCache plans;
  {
    Phase phase(out.timings, "passes");
    std::vector<passes::Remark> remarks;
    run_pipeline(f, target->description(), options, hooks, plans, remarks);
    for (const passes::Remark& r : remarks)
      out.remarks.push_back(r.where.line == 0 ? r.text : fmt::format("{}:{}: {}", r.where.file, r.where.line, r.text));
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
    machine = target->make_machine(f, options);
    module.setDataLayout(machine->createDataLayout());
    module.setTargetTriple(machine->getTargetTriple().str());
    target->lower(f, plans, options, module, *machine, out);
    verify(module);
  }
  {
    Phase phase(out.timings, "llvm");
    target->optimise(module, *machine);
  }
  if (hooks.keep_text || hooks.dump) out.llvm_ir = text_of(module);
  if (hooks.dump) hooks.dump("llvm", out.llvm_ir);
  {
    Phase phase(out.timings, target->emission_name());
    target->emit(module, *machine, hooks, out);
    errors.expect_none();
  }
  if (hooks.dump) hooks.dump(std::string(target->text_name()), out.assembly);
  return out;
}

}  // namespace tilewright::backend
