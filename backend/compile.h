// Compiles a function of tile IR to a CompiledKernel.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "backend/compiled_kernel.h"
#include "tileir/ir.h"
#include "tileir/target/target_desc.h"

namespace tilewright::backend {

/// Everything that changes the compiled code; caches hash all of it.
struct CompileOptions {
  std::string target = "cpu";  // "cpu" (this machine), "cpu:x86-64", "cpu:x86-64-v3", "cpu:x86-64-v4", "sm_75" to "sm_90a"
  int num_warps = 4;
  int num_stages = 0;  // 0: the target's default
  bool check = false;
  bool contract = true;
  int ptx_version = 0;  // version of the PTX ISA, as 10 * major + minor; 0: the oldest one that has all emitted instructions
  friend bool operator==(const CompileOptions&, const CompileOptions&) = default;
};

/// The intermediate results that a caller needs. They do not change the result, except that `text_only` omits a host's object.
struct CompileHooks {
  bool keep_text = false;  // fill tile_ir, llvm_ir, assembly
  /// Called with "NN_pass" and tile IR after each pass, "llvm" and LLVM IR, "assembly" and assembly.
  std::function<void(const std::string& stage, const std::string& text)> dump;
  /// For hosts: `image` stays empty, since LLVM would have to generate the code a second time for it.
  bool text_only = false;
};

/// The facts of a target. Throws Error for an unknown name.
ir::TargetDesc describe_target(const std::string& target);

/// Runs the target's pipeline on a verified function and generates code. Throws Error if the target does not support the function. For a
/// distributed function (of a GPU), only the passes that assign shared memory and insert barriers are run.
CompiledKernel compile(ir::Function, const CompileOptions&, const CompileHooks& = {});

}  // namespace tilewright::backend
