// TILEWRIGHT_UPDATE: new CHECK lines for an output, and the difference they make to the test's file.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "check.h"

namespace tilewright::test {

/// CHECK lines for `output`, in the style of tests/files: values are captures named after their ops. A test keeps its subject: lines with
/// ops that no check of `old` mentions are left out, unless there are no checks. A CHECK-NOT stays, after the same number of positive
/// checks as before; its author must decide whether to remove it.
std::vector<std::string> fresh_checks(std::string_view output, const std::vector<Check>& old);

/// The difference from `before` to `after`, as `diff -u` prints it; empty if they are equal.
std::string unified_diff(std::string_view file, std::string_view before, std::string_view after);

}  // namespace tilewright::test
