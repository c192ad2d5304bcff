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

/// Memory or an mbarrier that a warp looked at and found unchanged or not over.
struct Poll {
  u32 instruction = ~0u;  // ~0: none
  Space space = Space::global;
  u64 address = 0;  // in the space
  u32 bytes = 0;
};

/// A call that a lane is in.
struct Activation {
  u32 call = 0;                  // the instruction
  u32 callee = 0;                // in Kernel::callees
  u64 frame = 0, top = 0;        // in the lane's local memory
  std::vector<std::byte> saved;  // registers of the same function, called before and not yet left
};

struct Warp {
  std::byte* registers = nullptr;
  Block* block = nullptr;
  Worker* worker = nullptr;
  const Kernel* kernel = nullptr;
  int index = 0;
  Mask live = 0;                      // lanes that have not exited
  Mask carry = 0;                     // the flag of add.cc and its like
  std::vector<SimtStackEntry> stack;  // a tree; dead ones are reused
  std::vector<s32> free_entries;
  s32 current = 0;
  u64 polled = 0;              // what turns in a row that went into polling have cost
  Poll poll;                   // the last one of the present turn
  std::byte* local = nullptr;  // of lane 0; the others follow

  u32 time = 1;          // of its accesses; advances when lanes publish them
  AcquireClocks clocks;  // what happened before; of the warp itself, what its lanes have published to each other
  ProxyClocks async;     // the part of it that accesses through other proxies may rely on
  // Released by the last fence, for later strong writes; and acquired by strong reads, for the next fence.
  ReleaseClocks released, to_acquire;

  std::vector<AsyncCopy> copies;
  std::array<u32, kLanes> committed{};  // groups of each lane, in all
  bool commits_together = true;         // all lanes have committed as many
  u32 copy_sequence = 0;
  std::vector<BulkGroupCopy> bulk_copies;
  std::array<u32, kLanes> bulk_committed{};
  u32 bulk_sequence = 0;

  Mask cluster_arrived = 0;  // lanes at the cluster's barrier, until its phase is over
  u64 cluster_phase = 0;     // that they arrived in
  Mask cluster_awaited = 0;  // lanes that have arrived and are still to wait

  UndefinedRegisters undefined;
  MatrixWork matrix;
  u32 most_registers = 0;  // a thread's, by setmaxnreg or from the entry on; 0: not known

  std::array<std::vector<Activation>, kLanes> activations;  // calls of each lane, the innermost last

  SimtStackEntry& entry() { return stack[current]; }
  /// Adds what these lanes have done so far to a clock, and what lanes have done that exited.
  void publish(VectorClock& clock, Mask lanes) const { clock.raise(index, time, lanes | ~live); }
};

}  // namespace tilewright::rt::emulator
