// Runs passes: times each, keeps dumps, verifies after each, and leaves a reproducer when a pass breaks the IR.
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

/// Runs the named passes in order. Throws Error{} naming an unknown pass. A function that a pass left malformed is a CompilerBug
/// that names the pass and leaves the IR before it in a file.
std::vector<PassTiming> run_passes(ir::Function&, std::span<const std::string_view> names, const PassContext&, const RunOptions& = {});

/// The passes for a target, in order; reads as a story in pipelines.cpp.
std::vector<std::string_view> pipeline(const ir::TargetDesc&);
/// The passes of the pipeline that a function still needs: all of them, or for a distributed one those from allocate_shared on.
std::vector<std::string_view> pipeline_for(const ir::Function&, const ir::TargetDesc&);

}  // namespace tilewright::passes
