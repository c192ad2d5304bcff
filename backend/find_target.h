// The target that a name stands for.
#pragma once
#include <memory>
#include <string>

#include "backend/target_hooks.h"

namespace tilewright::backend {

/// Throws Error for an unknown name.
std::unique_ptr<TargetHooks> find_target(const std::string& name);

}  // namespace tilewright::backend
