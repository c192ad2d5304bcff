// Machines that run compiled programs in tests: the cpu at one of its levels, the emulator of a GPU, or a GPU.
#pragma once
#include <memory>
#include <string>

#include "tests/fuzz/differential.h"
#include "tileir/target/target_desc.h"

namespace tilewright::fuzz {

struct Machine {
  /// "cpu", "cpu:x86-64-v3", "emulator:sm_80", "cuda:0"; `num_warps` matters to GPUs.
  explicit Machine(const std::string& name, int num_warps = 4);

  /// The machine must agree with it bit for bit: the interpreter after the target's passes, with the machine's order of reductions.
  RewritingExecutor reference() const;

  std::string name, target;  // the target as backend::CompileOptions takes it
  ir::TargetDesc description;
  int num_warps;
  std::unique_ptr<Executor> executor;
};

}  // namespace tilewright::fuzz
