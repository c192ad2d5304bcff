// Runs a check that may crash, hang or print in a child process, and removes the files that it leaves.
#pragma once
#include <functional>
#include <string>

namespace tilewright::cli {

/// The result of a child process: the text that its function returned, or the signal that ended it, or the exit code with which something
/// in it ended it, as a sanitizer does.
struct ChildResult {
  std::string text;    // the text that the function returned
  std::string errors;  // the child's standard error
  int signal = 0;      // the signal that ended it; SIGALRM after a timeout
  int exit_code = 0;   // 0 if the function returned
};

/// Forks for each check. An exception in a check aborts the child, which prints its what() to standard error. Requires a single-threaded
/// process.
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
