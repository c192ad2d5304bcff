// The test-case reducer (after llvm-reduce): makes a function that shows a failure smaller.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "passes/ir_names.h"

namespace tilewright::passes {

struct ReduceOptions {
  int max_attempts = 4000;  // limit of calls of still_fails
  /// The bits of scalar arguments by name, so that constants may replace the parameters.
  std::map<std::string, std::uint64_t> scalars;
};

/// Deletes ops (constants or operands replace their results), inlines loops and branches, and drops masks, attributes, carried values and
/// unused parameters as long as `still_fails` holds. Every function that it passes to `still_fails` is well-formed, as `f` must be.
/// Parameters keep their names, by which a launch finds its arguments.
ir::Function reduce_test_case(const ir::Function& f, const std::function<bool(const ir::Function&)>& still_fails,
                              const ReduceOptions& = {});

/// Erases ops that have no effect and whose results are unused.
void remove_dead_code(ir::Function&);

}  // namespace tilewright::passes
