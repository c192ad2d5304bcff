// What becomes of LLVM's own fatal errors: bugs of this compiler, told as such.
#pragma once

namespace tilewright::backend {

/// From now on a fatal error of LLVM is reported as a compiler bug. May be called again.
void install_fatal_error_handler();

}  // namespace tilewright::backend
