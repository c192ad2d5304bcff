// Runs checks that may crash, hang or print in a child process, and removes the files that it leaves.
#pragma once
#include <functional>
#include <string>

namespace tilewright::cli {

/// The result of a child process: the text that its function returned, or the signal that ended it.
struct ChildResult {
  std::string text;    // returned
  std::string errors;  // its standard error
  int signal = 0;      // that ended it; SIGALRM if it ran for too long
};

/// Forks for each check. An exception out of a check aborts the child, its what() on standard error. Requires: this process has one thread.
class ChildProcesses {
 public:
  /// Makes a temporary folder for files of the children, such as reproducers of compiler bugs. Throws Failure.
  ChildProcesses();
  ~ChildProcesses();
  ChildProcesses(const ChildProcesses&) = delete;
  ChildProcesses& operator=(const ChildProcesses&) = delete;

  ChildResult run(const std::function<std::string()>& check, unsigned seconds) const;

 private:
  std::string folder_;
};

}  // namespace tilewright::cli
