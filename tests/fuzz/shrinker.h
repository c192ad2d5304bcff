// Makes a failing program small.
#pragma once
#include <functional>

#include "tests/fuzz/program.h"

namespace tilewright::fuzz {

/// Deletes ops (constants or operands take the place of their results), inlines loops and branches, drops masks, carried values and
/// parameters as long as `fails` holds. Every program that it asks about verifies and has a meaning (check_meaning). Asks at most
/// `max_attempts` times.
Program shrink(const Program&, const std::function<bool(const Program&)>& fails, int max_attempts = 4000);

/// Ops that are neither results nor effects go.
void remove_dead_code(ir::Function&);

}  // namespace tilewright::fuzz
