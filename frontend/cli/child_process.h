// Checks that may crash, hang or print, run in a child process that leaves nothing behind.
#pragma once
#include <functional>
#include <string>

namespace tilewright::cli {

/// What became of a child: what its function returned, or what ended it.
struct ChildResult {
  std::string text;    // returned
  std::string errors;  // what it wrote to standard error
  int signal = 0;      // that ended it; SIGALRM if it ran for too long
};

/// Forks for each check. An exception out of a check aborts the child, its what() on standard error. Requires: this process has one thread.
class ChildProcesses {
 public:
  /// Makes a folder for what children leave, such as the reproducers of compiler bugs. Throws Failure.
  ChildProcesses();
  ~ChildProcesses();
  ChildProcesses(const ChildProcesses&) = delete;
  ChildProcesses& operator=(const ChildProcesses&) = delete;

  ChildResult run(const std::function<std::string()>& check, unsigned seconds) const;

 private:
  std::string folder_;
};

}  // namespace tilewright::cli
