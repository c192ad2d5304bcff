// The table of passes as data, and the look-up of a pass by its name.
#pragma once
#include <span>
#include <string_view>

#include "passes/pass.h"

namespace tilewright::passes {

struct PassInfo {
  std::string_view name;
  std::string_view summary;
  PassFunction run;
  bool keeps_plans = false;  // lowering plans (passes/plans/lowering_plans.h) stay valid after the pass
};

/// All passes of passes.def.
std::span<const PassInfo> all_passes();
/// The pass with this name, or null.
const PassInfo* find_pass(std::string_view name);

}  // namespace tilewright::passes
