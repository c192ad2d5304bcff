// A failing program as files that the command line takes.
#pragma once
#include <string>

#include "tests/fuzz/program.h"

namespace tilewright::fuzz {

/// The failure of a program.
struct Blame {
  std::string difference;
  std::string passes;  // names with commas between: the interpreter gives something else after them
  std::string target;  // or: this target's machine code does
  bool exact = false;  // the interpreter and the target should agree bit for bit, contraction aside
  int warps = 4;       // warps of a program, if the target has warps
};

/// Leaves FOLDER/<seed>.tile, whose comments say what failed and the command that shows it, and a .npy file for each buffer that holds
/// more than zeros. Returns the command.
std::string write_reproducer(const Program&, const Blame&, const std::string& folder);

}  // namespace tilewright::fuzz
