// Equivalent mutants: mutants that are as correct as their kernel, each with the reason.
#pragma once
#include <string>
#include <vector>

#include "tests/mutants/mutator.h"

namespace tilewright::test {

/// The number of equivalent mutants of a kernel, for each target, among those that match all patterns and no earlier row. Each pattern is a
/// regular expression that must match a whole text.
struct Equivalent {
  const char* kernel;  // "ptx: multicast" if it is one of tests/ptx; "product for sm_90a" if it is so for this target alone
  Weakening weakening;
  const char* instruction;  // as in Mutant::before, each register as its letters: "@%p st.shared.b32 [%r + 0], %f;"
  const char* source;       // the user's line, without the blanks around it
  int count;
  const char* argument;  // why they do the same
};

const std::vector<Equivalent>& known_equivalents();

/// The instruction without the numbers of its registers.
std::string without_numbers(const std::string& instruction);
/// Whether all patterns match; `source` is the user's line.
bool describes(const Equivalent&, const std::string& kernel, const Mutant&, const std::string& source);

}  // namespace tilewright::test
