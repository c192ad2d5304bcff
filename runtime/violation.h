// Words what checked mode finds, with the user's line first.
#pragma once
#include <string>

#include "tilewright/here.h"

namespace tilewright::rt {

/// An Error at the line of the kernel where checked mode found it, with a note, `launch_note`, at the launch. In a kernel of the library
/// the launch is the user's line, and comes first.
Error violation(const Location& found, const std::string& message, const Here& launched, const std::string& launch_note);

}  // namespace tilewright::rt
