// What is wrong with a kernel: with what passes make of it, or with what a device makes of it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "frontend/cli/child_process.h"
#include "frontend/cli/execution.h"
#include "tileir/target/target_desc.h"

namespace tilewright::cli {

/// Programs that fail alike have the same kind.
struct Verdict {
  std::string kind;  // empty: nothing is wrong
  std::string text;
};

struct JudgeOptions {
  std::vector<std::string_view> passes;  // to judge, if `judge_passes`
  bool judge_passes = false;             // else: the device
  ir::TargetDesc target;
  ExecutionOptions execution;
  double tolerance = 1e-3;  // of floats, relative to the larger of their magnitude and 1
  unsigned seconds = 20;    // after which a program counts as one that does not end
};

/// Arguments for a kernel whose user gave none: random buffers, small numbers. The same ones each time.
std::vector<Argument> make_arguments(const ir::Function&);

class FailureJudge {
 public:
  FailureJudge(JudgeOptions options, std::vector<Argument> arguments);
  /// Judges in a child process. Parameters that are gone are left out.
  Verdict judge(const ir::Function&) const;

 private:
  std::string judge_here(const ir::Function&) const;

  JudgeOptions options_;
  std::vector<Argument> arguments_;
  ChildProcesses children_;
};

}  // namespace tilewright::cli
