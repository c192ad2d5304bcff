// Describes what a caller asks of a compilation.
#pragma once
#include <functional>
#include <string>

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

}  // namespace tilewright::backend
