// The targets of the host: their CPUs, and the hooks that compile.cpp calls.
#pragma once
#include <memory>
#include <string>

#include "backend/host/machine.h"
#include "backend/target_hooks.h"

namespace tilewright::backend::host {

/// "cpu" (this machine) or "cpu:x86-64", "cpu:x86-64-v3", "cpu:x86-64-v4". Throws Error for another name.
Machine machine_of(const std::string& target);

/// Throws Error for the same names as machine_of.
std::unique_ptr<TargetHooks> hooks_of(const std::string& target);

}  // namespace tilewright::backend::host
