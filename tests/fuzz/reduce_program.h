// Makes a failing program small: its function, its grid, its arguments.
#pragma once
#include <functional>

#include "tests/fuzz/program.h"

namespace tilewright::fuzz {

/// Reduces the program to a smaller function (passes/debug/test_case_reducer.h), the smallest grid and the arguments that are still needed.
/// Each program that `fails` gets is valid and has a meaning (check_meaning). Calls it at most `max_attempts` times.
Program reduce_program(const Program&, const std::function<bool(const Program&)>& fails, int max_attempts = 8000);

}  // namespace tilewright::fuzz
