// A thread of the host that runs blocks.
#pragma once
#include <memory>
#include <vector>

#include "runtime/emulator/cost/counters.h"
#include "runtime/emulator/program/program.h"

namespace tilewright::rt::emulator {

struct LaunchState;
struct PerKernelCache;

/// Counts of consecutive instructions that the same lanes execute.
struct Runs {
  u64 executed = 0, lanes = 0;

  Runs& operator+=(const Runs& other) { return executed += other.executed, lanes += other.lanes, *this; }
  Runs& operator-=(const Runs& other) { return executed -= other.executed, lanes -= other.lanes, *this; }
};

/// One thread that runs blocks.
struct Worker {
  // The cost of a poll: a warp that polls memory waits for other warps, so its turn ends sooner.
  static constexpr u64 kPollCost = 1000;
  // The instructions that a poll counts for a launch's limit while nothing changes: a launch that only polls ends within seconds.
  static constexpr u64 kPollWeight = 100;
  /// Records that the instruction read something for which the warp may be waiting, and changed nothing.
  void poll(const Instruction& i) {
    spent += kPollCost;
    polling += kPollCost;
    changes -= i.is_visible;
  }
  u64 executed() const { return spent - polling; }

  LaunchState* launch = nullptr;
  std::vector<Count> counts;  // one for each instruction
  std::vector<Runs> runs;     // starting at an instruction, minus those that end before it
  std::shared_ptr<PerKernelCache> kernel_cache;
  std::size_t last_range = 0;
  u64 spent = 0;         // warp instructions, plus the cost of polling
  u64 polling = 0;       // the part of it for polling
  u64 changes = 0;       // not yet added to LaunchState::changes
  bool stopped = false;  // a diagnostic has ended the launch
  u64 random = 1;        // for asynchronous work
  u64 order = 1;         // also random: for the order of warps and blocks
};

}  // namespace tilewright::rt::emulator
