// A peer in a process of Python, which times its own kernels when it is asked to.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "frontend/cli/bench/peers/peers.h"

namespace tilewright::cli::bench {

/// A process with a script of ours. Requests are lines of JSON on its standard input, answers lines that begin with '@': "@ok VALUE" or
/// "@no REASON".
class PythonProcess {
 public:
  /// `name` of the script, which is written into the folder. Throws Unavailable if there is no interpreter.
  PythonProcess(const std::string& interpreter, const std::string& folder, const std::string& name, std::string_view script);
  ~PythonProcess();
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;

  /// The value of the answer. Throws Unavailable with the reason of a refusal, or why there is no answer: the process ended, or takes
  /// longer than two minutes.
  std::string ask(const std::string& request);
  int id() const { return process_; }

 private:
  std::string read_line();
  [[noreturn]] void give_up(const std::string& why);

  const std::string name_, errors_;
  int process_ = -1, socket_ = -1;
  std::string unread_;
  std::string ended_;  // why there is no process any more
};

/// The texts of the scripts that the program holds: the folder peers.
extern const std::string_view kTorchScript, kTritonScript, kNumpyScript;

}  // namespace tilewright::cli::bench
