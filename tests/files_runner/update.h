// TILEWRIGHT_UPDATE: new CHECK lines for an output, and the difference they make to the test's file.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "check.h"

namespace tilewright::test {

/// CHECK lines for `output`, in the style of tests/files: values as captures named for their ops. Lines of ops that no check of `old`
/// is about are left out, so that a test keeps its subject; without such a check, all lines are there. A CHECK-NOT stays, after as many
/// positive checks as before: whether it may go is for the author to decide.
std::vector<std::string> fresh_checks(std::string_view output, const std::vector<Check>& old);

/// What turns `before` into `after`, as `diff -u` prints it; empty if they are equal.
std::string unified_diff(std::string_view file, std::string_view before, std::string_view after);

}  // namespace tilewright::test
