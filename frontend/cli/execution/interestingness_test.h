// The interestingness test of the test-case reducer: how a kernel fails after passes have changed it, or on a device.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "frontend/cli/execution/child_process.h"
#include "frontend/cli/execution/execution.h"
#include "tileir/target/target_desc.h"

namespace tilewright::cli {

/// How a kernel fails. Two kernels that fail in the same way have the same kind.
struct Verdict {
  std::string kind;  // empty: the kernel does not fail
  std::string text;
};

struct InterestingnessOptions {
  std::vector<std::string_view> passes;  // the passes to test, if `test_passes`
  bool test_passes = false;              // whether a pass is tested; else the device is
  ir::TargetDesc target;
  ExecutionOptions execution;
  double tolerance = 1e-3;  // for floats, relative to the larger of their magnitude and 1
  unsigned seconds = 20;    // a program that takes longer is considered endless
};

/// Arguments for a kernel if the user gives none: random buffers and small numbers, always the same ones.
std::vector<Argument> make_arguments(const ir::Function&);

class InterestingnessTest {
 public:
  InterestingnessTest(InterestingnessOptions options, std::vector<Argument> arguments);
  /// Tests the function in a child process. Skips the arguments of parameters that the reducer has removed.
  Verdict run(const ir::Function&) const;

 private:
  std::string run_in_child(const ir::Function&) const;

  InterestingnessOptions options_;
  std::vector<Argument> arguments_;
  ChildProcesses children_;
};

}  // namespace tilewright::cli
