// The pass manager: runs, times, dumps and verifies passes, and writes a reproducer if a pass fails.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "passes/pass.h"

namespace tilewright::passes {

struct PassTiming {
  std::string name;
  double ms;
};

struct RunOptions {
#ifdef NDEBUG
  bool verify_each = false;
#else
  bool verify_each = true;
#endif
  /// Called with "NN_name" before the first pass ("00_traced") and after each one.
  std::function<void(const std::string& stage, const ir::Function&)> dump;
};

/// Runs the named passes in order. Throws Error for an unknown pass name. If a pass leaves a malformed function, the CompilerBug names the
/// pass and a file with the IR before it.
std::vector<PassTiming> run_passes(ir::Function&, std::span<const std::string_view> names, const PassContext&, const RunOptions& = {});

/// The passes for a target, in order.
std::vector<std::string_view> pipeline(const ir::TargetDesc&);
/// The passes of the pipeline that a function still needs: all of them or, for a distributed function on a GPU, those from allocate_shared
/// on. Throws Error at an op on distributed tiles if the function has no layouts.
std::vector<std::string_view> pipeline_for(const ir::Function&, const ir::TargetDesc&);

}  // namespace tilewright::passes
