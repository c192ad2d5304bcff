// A thread of the host that runs blocks.
#pragma once
#include <memory>
#include <vector>

#include "runtime/emulator/cost/counters.h"
#include "runtime/emulator/program/program.h"

namespace tilewright::rt::emulator {

struct Launch;
struct KernelCache;

/// Of instructions that follow each other, by the same lanes.
struct Runs {
  u64 executed = 0, lanes = 0;

  Runs& operator+=(const Runs& other) { return executed += other.executed, lanes += other.lanes, *this; }
  Runs& operator-=(const Runs& other) { return executed -= other.executed, lanes -= other.lanes, *this; }
};

/// One thread that runs blocks.
struct Worker {
  // A warp that polls memory waits for other warps: its turn ends sooner.
  static constexpr u64 kPollCost = 1000;
  // How many instructions a poll is to the limit of a launch while nothing changes: one of polls alone ends in seconds.
  static constexpr u64 kPollWeight = 100;
  /// The instruction looked at what the warp may wait for, and changed nothing.
  void poll(const Instruction& i) {
    spent += kPollCost;
    polling += kPollCost;
    changes -= i.is_visible;
  }
  u64 executed() const { return spent - polling; }

  Launch* launch = nullptr;
  std::vector<Count> counts;  // one an instruction
  std::vector<Runs> runs;     // that begin at an instruction, and less those that end ahead of it
  std::shared_ptr<KernelCache> kernel_cache;
  std::size_t last_range = 0;
  u64 spent = 0;         // warp instructions, and what polling costs on top
  u64 polling = 0;       // of it
  u64 changes = 0;       // not yet added to Launch::changes
  bool stopped = false;  // a diagnostic that ends the launch
  u64 random = 1;        // of asynchronous work
  u64 order = 1;         // random too, of the order of warps and blocks
};

}  // namespace tilewright::rt::emulator
