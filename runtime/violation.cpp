// Chooses whether the line of a kernel or that of its launch comes first.
#include "runtime/violation.h"

namespace tilewright::rt {

namespace {

/// Whether a source file is a header of the kernel library, in this library's sources or where they are installed.
bool is_of_library(const std::string& file) { return file.find("/tilewright/kernels/") != std::string::npos; }

}  // namespace

Error violation(const Location& found, const std::string& message, const Here& launched, const std::string& launch_note) {
  const Location launch = detail::location_of(launched);
  if (!is_of_library(found.file) || launch.line == 0) return Error(found, message, {{launch, launch_note}});
  constexpr std::string_view kLaunched = "launched here";
  std::string note = "found here, in a kernel of the library";
  if (launch_note.starts_with(kLaunched)) note += launch_note.substr(kLaunched.size());
  return Error(launch, message, {{found, note}});
}

}  // namespace tilewright::rt
