// A warp: its registers, SIMT stack, clocks and asynchronous work.
#pragma once
#include <array>
#include <cstddef>
#include <vector>

#include "runtime/emulator/program/program.h"
#include "runtime/emulator/shadow/acquire_clocks.h"
#include "runtime/emulator/state/async_operations.h"
#include "runtime/emulator/state/matrix_work.h"
#include "runtime/emulator/state/simt_stack.h"
#include "runtime/emulator/state/undefined_values.h"

namespace tilewright::rt::emulator {

struct Block;
struct Worker;

/// Memory or an mbarrier that a warp has read and found unchanged or incomplete.
struct Poll {
  u32 instruction = ~0u;  // ~0: none
  Space space = Space::global;
  u64 address = 0;  // in the space
  u32 bytes = 0;
};

/// A call that a lane is executing.
struct Activation {
  u32 call = 0;                  // the call instruction
  u32 callee = 0;                // index in Kernel::callees
  u64 frame = 0, top = 0;        // in the lane's local memory
  std::vector<std::byte> saved;  // registers of an outer activation of the same function
};

struct Warp {
  std::byte* registers = nullptr;
  Block* block = nullptr;
  Worker* worker = nullptr;
  const Kernel* kernel = nullptr;
  int index = 0;
  Mask live = 0;                      // lanes that have not exited
  Mask carry = 0;                     // the carry flag of add.cc and similar instructions
  std::vector<SimtStackEntry> stack;  // a tree; finished entries are reused
  std::vector<s32> free_entries;
  s32 current = 0;
  u64 polled = 0;              // cost of consecutive turns that were spent on polling
  Poll poll;                   // the last poll of the current turn
  std::byte* local = nullptr;  // of lane 0; the other lanes follow

  u32 time = 1;          // time of its accesses; advances when lanes publish them
  AcquireClocks clocks;  // what happened before; for the warp itself, what its lanes have published to each other
  ProxyClocks async;     // the part of it on which accesses through other proxies may rely
  // Released by the last fence, for later strong writes; and acquired by strong reads, for the next fence.
  ReleaseClocks released, to_acquire;

  std::vector<AsyncCopy> copies;
  std::array<u32, kLanes> committed{};  // number of groups of each lane
  bool commits_together = true;         // all lanes have committed the same number
  u32 copy_sequence = 0;
  std::vector<BulkGroupCopy> bulk_copies;
  std::array<u32, kLanes> bulk_committed{};
  u32 bulk_sequence = 0;

  Mask cluster_arrived = 0;  // lanes at the cluster's barrier, until its phase is complete
  u64 cluster_phase = 0;     // the phase in which they arrived
  Mask cluster_awaited = 0;  // lanes that have arrived and must still wait

  UndefinedRegisters undefined;
  MatrixWork matrix;
  u32 most_registers = 0;  // of a thread, by setmaxnreg or from the entry; 0: unknown

  std::array<std::vector<Activation>, kLanes> activations;  // calls of each lane, the innermost one last

  SimtStackEntry& entry() { return stack[current]; }
  /// Adds to a clock what these lanes have done so far, and what lanes did that have exited.
  void publish(VectorClock& clock, Mask lanes) const { clock.raise(index, time, lanes | ~live); }
};

}  // namespace tilewright::rt::emulator
