// LLVM's fatal errors as compiler bugs.
#include "backend/llvm_fatal_errors.h"

#include <llvm/Support/ErrorHandling.h>

#include <mutex>

#include "tileir/diagnostics.h"

namespace tilewright::backend {

namespace {
void on_fatal_error(void*, const char* reason, bool) { compiler_bug(__FILE__, __LINE__, "LLVM", reason); }
}  // namespace

void install_fatal_error_handler() {
  static std::once_flag once;
  std::call_once(once, [] { llvm::install_fatal_error_handler(on_fatal_error); });
}

}  // namespace tilewright::backend
