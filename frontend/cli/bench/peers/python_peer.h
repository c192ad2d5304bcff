// A peer in a Python process, which times its own kernels on request.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "frontend/cli/bench/peers/peers.h"

namespace tilewright::cli::bench {

/// A process that runs one of our scripts. Requests are lines of JSON on its standard input; answers are lines that begin with '@':
/// "@ok VALUE" or "@no REASON".
class PythonProcess {
 public:
  /// `name` is the file name of the script, which is written into the folder. Throws Unavailable if there is no interpreter.
  PythonProcess(const std::string& interpreter, const std::string& folder, const std::string& name, std::string_view script);
  ~PythonProcess();
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;

  /// The value of the answer. Throws Unavailable with the reason if the script refuses, or if there is no answer because the process has
  /// ended or takes more than two minutes.
  std::string ask(const std::string& request);
  int id() const { return process_; }

 private:
  std::string read_line();
  [[noreturn]] void give_up(const std::string& why);

  const std::string name_, errors_;
  int process_ = -1, socket_ = -1;
  std::string unread_;
  std::string ended_;  // why the process has ended
};

/// The texts of the scripts in the folder peers, which are part of the program.
extern const std::string_view kTorchScript, kTritonScript, kNumpyScript;

}  // namespace tilewright::cli::bench
