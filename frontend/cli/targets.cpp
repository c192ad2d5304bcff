// Targets as a command line names them.
#include "frontend/cli/targets.h"

#include "backend/compile.h"
#include "frontend/cli/command.h"
#include "frontend/cli/diagnostics_text.h"

namespace tilewright::cli {

ir::TargetDesc find_target(const std::string& name) {
  try {
    return backend::describe_target(name);
  } catch (const Error& e) {
    if (name.starts_with("sm_")) throw Failure(message_of(e));
    throw UsageError(message_of(e));
  }
}

}  // namespace tilewright::cli
