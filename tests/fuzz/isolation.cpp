// Runs the check in a child process and describes how the process ended.
#include "tests/fuzz/isolation.h"

#include <csignal>
#include <cstring>
#include <string>

#include "frontend/cli/execution/child_process.h"

namespace tilewright::fuzz {

std::optional<std::string> isolated(const std::function<std::optional<std::string>()>& check, unsigned seconds) {
  static const cli::ChildProcesses children;
  const auto tell = [&] {
    const std::optional<std::string> found = check();
    return found ? "!" + *found : "";  // marked, because a failure may have an empty text
  };
  const cli::ChildResult result = children.run(tell, seconds);
  if (result.signal == SIGALRM) return "it did not end in time";
  const std::string first = result.errors.substr(0, result.errors.find('\n'));
  const std::string why = first.empty() ? "" : ": " + first;
  if (result.signal != 0) return std::string("it was ended by a signal: ") + strsignal(result.signal) + why;
  if (result.exit_code != 0) return "it exited with code " + std::to_string(result.exit_code) + why;
  return result.text.empty() ? std::nullopt : std::optional(result.text.substr(1));
}

}  // namespace tilewright::fuzz
