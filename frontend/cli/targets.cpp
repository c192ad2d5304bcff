// Names to targets, launches to options.
#include "frontend/cli/targets.h"

#include "frontend/cli/command.h"
#include "frontend/cli/diagnostics_text.h"
#include "frontend/compile_request.h"

namespace tilewright::cli {

ir::TargetDesc find_target(const std::string& name) {
  try {
    return backend::describe_target(name);
  } catch (const Error& e) {
    throw UsageError(message_of(e));
  }
}

backend::CompileOptions compile_options(const char* command, const std::string& kernel, const Launch& launch) {
  const Here here;
  try {
    return detail::checked_options({command, kernel, here}, launch);
  } catch (const Error& e) {
    throw UsageError(message_of(e));
  }
}

}  // namespace tilewright::cli
