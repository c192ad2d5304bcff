// Reads the textual form of tile IR.
#pragma once
#include <string>
#include <string_view>

#include "tileir/ir.h"

namespace tilewright::ir {

/// The kernels of a text. `file` is its name in errors; ops without a location of their own get the line of the text. Throws Error at the
/// first syntax error, or the error of verify_or_throw for a text that parses but is not well formed.
Module parse(std::string_view text, const std::string& file);
/// As parse(), but without verification: for tests of the verifier.
Module parse_unverified(std::string_view text, const std::string& file);

}  // namespace tilewright::ir
