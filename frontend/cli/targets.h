// Targets as a command line names them.
#pragma once
#include <string>

#include "tileir/target_desc.h"

namespace tilewright::cli {

/// The facts of a target, "cpu" or "cpu:LEVEL". Throws Failure for one that is not there yet, UsageError for a name that is none.
ir::TargetDesc find_target(const std::string& name);

}  // namespace tilewright::cli
