// A cluster: blocks that run together, their barrier and their asynchronous work.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "runtime/emulator/state/async_operations.h"
#include "runtime/emulator/state/barrier.h"
#include "runtime/emulator/state/block.h"
#include "runtime/emulator/state/deadlock_watch.h"

namespace tilewright::rt::emulator {

/// Blocks that run together and access each other's shared memory. Without clusters: a single block.
struct Cluster {
  std::array<u32, 3> id{};
  std::vector<std::unique_ptr<Block>> blocks;  // by rank
  std::vector<AsyncOperation> operations;      // in the order in which they began
  ClusterBarrier barrier;
  DeadlockWatch watch;
};

}  // namespace tilewright::rt::emulator
