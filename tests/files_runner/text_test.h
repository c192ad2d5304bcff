// Runs one .tile or .graph file as a test and returns the directives that do not hold.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "check.h"

namespace tilewright::test {

struct TextTestResult {
  std::vector<Failure> failures;
  /// The file with the CHECK lines of its failing cases replaced by ones for the output there is.
  std::string updated;
};

/// Runs every case of a file; cases are separated by lines `// -----`. A directive is a comment `// name: text`:
///   passes: a, b       these run, in order, before the output is checked
///   target: avx2       the target of the passes: baseline (if not named), avx2 or avx512
///   mode: checked      passes work for checked mode
///   analysis: NAME     the output is what this analysis prints instead of the IR, values named as in the case's text
///   prints: itself     the output is the case's own text, comments aside
///   prints: unchanged  the passes leave every kernel as it is
///   ops: exp = 0, exp2 = 1    how many of these ops the output has
///   error: text        at the end of the offending line, or on a line of its own before it: a problem there whose message holds the text
///   note: text         likewise, a note of such a problem
///   remark: text       likewise, a remark of a pass. All of them must be expected if one is
///   CHECK: pattern     and the like (see check.h), of the output
/// and of graphs, in files whose name ends in .graph:
///   step: plan         the output is what this step of docs/fusion.md gives (fusion_steps.h)
///   options: reassociate = false    of the program: reassociate, move_rounding, batch_invariant; most_operations = N of a segment
/// A case without errors must also read back from its own output, with and without locations.
TextTestResult run_text_test(std::string_view contents, const std::string& file);

}  // namespace tilewright::test
