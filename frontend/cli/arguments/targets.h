// Parses the targets and compile options of a command line.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/compile.h"

#include "tileir/target/target_desc.h"
#include "tilewright/launch.h"

namespace tilewright::cli {

/// Lists of targets: all for --help, GPUs only for messages.
inline constexpr const char* kTargetNames = "cpu|cpu:x86-64|cpu:x86-64-v3|cpu:x86-64-v4|sm_75|sm_80|sm_86|sm_89|sm_90|sm_90a|sm_100|sm_120";
inline constexpr const char* kGpuTargets = "sm_75, sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_120";

/// The description of a target. Throws UsageError for an unknown name.
ir::TargetDesc find_target(const std::string& name);

/// The grid of a launch from 1 to 3 extents. Throws UsageError with the message of a launch of a C++ kernel if the grid is too large.
std::array<std::int32_t, 3> launch_grid(const char* command, const std::string& kernel, const std::vector<std::int64_t>& extents);

/// The compile options of a launch without the target, which the caller sets. Throws UsageError for values that no target accepts.
backend::CompileOptions compile_options(const char* command, const std::string& kernel, const Launch&);

}  // namespace tilewright::cli
