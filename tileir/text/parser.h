// Reads the textual form of tile IR.
#pragma once
#include <string>
#include <string_view>

#include "tileir/ir.h"

namespace tilewright::ir {

/// The kernels of a text. `file` names it in errors; ops without a location of their own get the text's line.
/// Throws Error at the location of the first syntax error, or verify_or_throw's for a text that reads but is not well formed.
Module parse(std::string_view text, const std::string& file);
/// The same, without verifying: for tests of the verifier.
Module parse_unverified(std::string_view text, const std::string& file);

}  // namespace tilewright::ir
