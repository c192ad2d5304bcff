// Implements the target interface for NVIDIA GPUs.
#include <algorithm>

#include "backend/nvptx/launch_plan.h"
#include "backend/nvptx/lowering.h"
#include "backend/nvptx/target.h"
#include "passes/analysis/register_pressure.h"
#include "passes/plans/lowering_plans.h"
#include "tileir/op_kind.h"
#include "tileir/roles.h"
#include "tileir/target/gpu_chips.h"
#include "tileir/target/mma_layouts.h"

namespace tilewright::backend::nvptx {

namespace {

constexpr int kBulkCopyPtxVersion = 80;

/// The oldest version of the PTX ISA that has all emitted instructions.
int ptx_version_of(const ir::Function& f) {
  int version = kPtxVersion;
  f.walk([&](ir::OpId id) {
    if (f.kind(id) == ir::OpKind::mma_ || f.kind(id) == ir::OpKind::mma_async_)
      version = std::max(version, ir::matrix_instruction(f, id).ptx_version);
    if (f.kind(id) == ir::OpKind::make_tensor_map_) version = std::max(version, kBulkCopyPtxVersion);
  });
  return version;
}

/// Whether roles specify their registers. ptxas accepts that only if a single program per SM is requested.
bool changes_registers(const ir::Function& f) {
  const ir::OpId op = ir::roles_op(f);
  return op && !f.attr_list(op, ir::AttrName::registers).empty();
}

class NvptxHooks final : public TargetHooks {
 public:
  using TargetHooks::TargetHooks;

  CompiledKernel::Format format() const override { return CompiledKernel::Format::ptx; }
  std::string processor() const override { return std::string(ir::gpu_chip(description().name)->code); }
  std::string entry_of(const ir::Function& f) const override { return f.name; }

  std::unique_ptr<llvm::TargetMachine> make_machine(const ir::Function& f, const CompileOptions& options) const override {
    return make_target_machine(processor(), options.ptx_version ? options.ptx_version : ptx_version_of(f));
  }

  void lower(const ir::Function& f, passes::PlanCache& cache, const CompileOptions& options, llvm::Module& m, llvm::TargetMachine&,
             CompiledKernel& kernel) const override {
    const passes::LoweringPlans& plans = cache.get(f, options.num_warps);
    const std::int64_t shared = plans.shared_bytes(f);
    const int num_warps = ir::program_warps(f, options.num_warps);
    const int programs_per_sm = changes_registers(f) ? 1 : passes::blocks_per_sm(f, description(), num_warps, shared);
    KernelSites sites =
        nvptx::lower(m, f, plans, description(),
                     {.entry = kernel.entry, .num_warps = num_warps, .check = options.check, .programs_per_sm = programs_per_sm});
    kernel.sites = std::move(sites.accesses);
    kernel.reports = std::move(sites.reports);
    kernel.launch = launch_plan(f);
    kernel.resources.num_warps = num_warps;
    kernel.resources.shared_bytes = static_cast<int>(shared);
    if (std::string text = passes::too_large(f, description(), num_warps); !text.empty()) kernel.remarks.push_back(std::move(text));
  }

  void optimise(llvm::Module& m, llvm::TargetMachine& machine) const override { nvptx::optimise(m, machine); }

  std::string_view text_name() const override { return "ptx"; }
  std::string_view emission_name() const override { return "ptx"; }

  void emit(llvm::Module& m, llvm::TargetMachine& machine, const CompileHooks& hooks, CompiledKernel& kernel) const override {
    const std::string ptx = emit_ptx(m, machine);
    const auto* bytes = reinterpret_cast<const std::byte*>(ptx.data());
    kernel.image.assign(bytes, bytes + ptx.size());
    if (hooks.keep_text || hooks.dump) kernel.assembly = ptx;
  }
};

}  // namespace

std::unique_ptr<TargetHooks> hooks_of(const std::string& target) {
  const auto description = ir::describe_gpu(target);
  return description ? std::make_unique<NvptxHooks>(*description) : nullptr;
}

}  // namespace tilewright::backend::nvptx
