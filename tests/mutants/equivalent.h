// Mutants that are as right as the kernel they were made of, and why.
#pragma once
#include <string>
#include <vector>

#include "tests/mutants/mutator.h"

namespace tilewright::test {

/// What is known of mutants of one kind. Each pattern is a regular expression that has to match all of a text.
struct Equivalent {
  const char* kernel;
  Weakening weakening;
  const char* instruction;  // as in Mutant::before, each register as its letters: "@%p st.shared.b32 [%r + 0], %f;"
  const char* source;       // the user's line, without the blanks around it
  const char* argument;     // why they do the same
};

const std::vector<Equivalent>& known_equivalents();

/// The instruction without the numbers of its registers.
std::string without_numbers(const std::string& instruction);

}  // namespace tilewright::test
