// Makes a function small that something is wrong with.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "passes/ir_names.h"

namespace tilewright::passes {

struct ReduceOptions {
  int max_attempts = 4000;  // how often still_fails may be asked
  /// The bits of scalar parameters by name: what they are launched with, so that a constant may take their place.
  std::map<std::string, std::uint64_t> scalars;
};

/// Deletes ops (constants or operands take the place of their results), inlines loops and branches, drops masks, attributes, carried
/// values and unused parameters as long as `still_fails` holds. What it asks about verifies, as `f` must; parameters keep their names, so
/// a launch finds its arguments by them.
ir::Function reduce_test_case(const ir::Function& f, const std::function<bool(const ir::Function&)>& still_fails,
                              const ReduceOptions& = {});

/// Ops that are neither results nor effects go.
void remove_dead_code(ir::Function&);

}  // namespace tilewright::passes
