// Tile IR to LLVM IR for the host: one function that runs a range of programs.
//
// plan          decides how each tile is computed: inline, in a loop nest, in a buffer; block_planner forms the steps of a block
// steps         emits them: scalars, loop nests (loop_nest, nest, memory, reduce, ...) and ops on whole buffers (dot, scan, sort, ...)
// outlining     splits a large function
#pragma once
#include <llvm/IR/Module.h>

#include <cstdint>
#include <string>
#include <vector>

#include "backend/compiled_kernel.h"
#include "backend/host/machine.h"
#include "tileir/ir.h"

namespace tilewright::backend::host {

struct LoweredFunction {
  std::int64_t scratch_bytes = 0;
  bool is_outlined = false;  // parts of the function were outlined because it is large
  std::vector<AccessSite> sites;
  std::vector<ReportSite> reports;
};

/// Emits the function `entry` (a HostEntry).
LoweredFunction lower(llvm::Module&, const ir::Function&, const Machine&, bool check, const std::string& entry);

}  // namespace tilewright::backend::host
