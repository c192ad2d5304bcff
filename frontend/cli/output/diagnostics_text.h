// Formats errors for the command line, each with the source line that it names.
#pragma once
#include <string>
#include <string_view>

#include "frontend/cli/files/files.h"
#include "tilewright/error.h"

namespace tilewright::cli {

/// `text` is what() of an Error: lines of "file:line:column: error: ...". If a line of a known or readable file is named, that line and a
/// caret follow. Unknown locations become the program's name.
std::string with_source_lines(std::string_view text, const Files&, bool colour);

/// what() of an Error without its location: "<message>", followed by its notes.
std::string message_of(const Error&);

/// "tilewright: error: <message>".
std::string error_line(std::string_view message, bool colour);

/// Whether standard error is a terminal and NO_COLOR is not set.
bool stderr_takes_colour();

}  // namespace tilewright::cli
