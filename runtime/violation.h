// Makes the errors of checked mode, which begin with the user's line.
#pragma once
#include <string>

#include "tilewright/here.h"

namespace tilewright::rt {

/// An Error at the kernel's line where checked mode found the violation, with a note, `launch_note`, at the launch. For a kernel of the
/// library the launch is the user's line and comes first.
Error violation(const Location& found, const std::string& message, const Here& launched, const std::string& launch_note);

}  // namespace tilewright::rt
