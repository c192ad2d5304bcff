// Parses targets and compile options.
#include "frontend/cli/arguments/targets.h"

#include "frontend/cli/files/errors.h"
#include "frontend/cli/output/diagnostics_text.h"
#include "frontend/launch/checked_options.h"

namespace tilewright::cli {

ir::TargetDesc find_target(const std::string& name) {
  try {
    return backend::describe_target(name);
  } catch (const Error& e) {
    throw UsageError(message_of(e));
  }
}

namespace {
Grid grid_of(const std::vector<std::int64_t>& extents) {
  switch (extents.size()) {
    case 1: return Grid{extents[0]};
    case 2: return Grid{extents[0], extents[1]};
    default: return Grid{extents[0], extents[1], extents[2]};
  }
}
}  // namespace

std::array<std::int32_t, 3> launch_grid(const char* command, const std::string& kernel, const std::vector<std::int64_t>& extents) {
  const Here here;
  try {
    return detail::checked_grid({command, kernel, here}, grid_of(extents));
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
