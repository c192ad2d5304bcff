// The CHECK directives of text tests: a small FileCheck.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::test {

enum class CheckKind { plain, next, not_, dag, label };

/// One directive, as `// CHECK-NEXT: pattern` says it. In a pattern, {{...}} is a regular expression, [[NAME:...]] one whose match
/// gets a name, and [[NAME]] the text that got it; the rest is literal. Runs of blanks count as one.
struct Check {
  CheckKind kind;
  std::string pattern;
  int line;  // line in the test's file
};

struct Failure {
  int line;
  std::string message;
};

/// The checks that fail for a text. As in FileCheck, CHECK matches after the match before it, CHECK-NEXT on the line after that match,
/// a run of CHECK-DAG in any order, and CHECK-NOT nowhere between its neighbours. CHECK-LABEL first cuts the text into parts, so that a
/// failure in one part does not shift the others.
std::vector<Failure> run_checks(const std::vector<Check>&, std::string_view text);

}  // namespace tilewright::test
