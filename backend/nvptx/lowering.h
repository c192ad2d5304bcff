// Lowers distributed tile IR to LLVM IR for NVPTX: one kernel, as executed by one thread of a program.
#pragma once
#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "backend/compiled_kernel.h"
#include "passes/plans/lowering_plans.h"
#include "tileir/ir.h"
#include "tileir/target/target_desc.h"

namespace tilewright::backend::nvptx {

struct KernelOptions {
  std::string entry;  // the kernel's name
  int num_warps = 4;
  bool check = false;       // checked mode
  int programs_per_sm = 0;  // how many an SM should hold at once, which limits a thread's registers; 0: ptxas decides
};

/// The ops that write records for the host.
struct KernelSites {
  std::vector<ReportSite> reports;
  std::vector<AccessSite> accesses;
};

/// Emits the kernel. Its parameters are those of the function, then its tensor maps (backend/nvptx/launch_plan.h); after them, if the function has reports, the address of the report buffer,
/// and in checked mode, if it accesses memory, the address of the launch's bounds (backend/nvptx_abi.h).
KernelSites lower(llvm::Module&, const ir::Function&, const passes::LoweringPlans&, const ir::TargetDesc&, const KernelOptions&);

}  // namespace tilewright::backend::nvptx
