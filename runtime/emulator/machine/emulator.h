// Runs PTX on the processor: what the emulated device is made of. It shares nothing with the compiler whose output it executes.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <string>

#include "runtime/emulator/cost/counters.h"
#include "runtime/emulator/machine/diagnostics.h"
#include "runtime/emulator/memory/memory.h"
#include "runtime/emulator/program/program.h"

namespace tilewright::rt::emulator {

/// Which block and which warp runs when. Correct kernels do not depend on it. Random: blocks begin in any order, several at a time, and
/// warps of theirs take turns of random lengths.
enum class Order : u8 { forward, backward, random };

/// When asynchronous work is done: not before nobody can go on without it, at once, or sometimes this and sometimes that.
enum class AsyncOrder : u8 { lazy, eager, random };

/// Minutes of work, or half a minute of polling memory that never changes.
inline constexpr u64 kDefaultInstructionLimit = 10'000'000'000;

struct LaunchParams {
  std::array<u32, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::array<u32, 3> cluster{};  // blocks of a cluster; 0: what the kernel requires
  u64 dynamic_shared_bytes = 0;
  std::span<const std::byte> params;  // laid out as the kernel's parameters are
  std::string target = "sm_90a";      // the emulated device
  bool check = true;                  // races and reads of unwritten shared memory; bounds and alignment are always checked
  Order order = Order::forward;
  AsyncOrder async_order = AsyncOrder::lazy;
  u64 seed = 0;                  // of the random AsyncOrder
  u64 order_seed = 0;            // of the random Order
  int workers = 0;               // threads that run blocks; 0: one a core, or a single one in random order, which a seed then repeats
  bool stop_at_finding = false;  // gives the launch up soon after the first one
  // Warp instructions after which the launch is given up as endless, polls that find nothing new counting more; 0: none.
  u64 instruction_limit = kDefaultInstructionLimit;
  const std::atomic<bool>* interrupted = nullptr;  // gives the launch up once it is true
  bool cooperative = false;                        // blocks may wait for each other, as cooperative groups do
  std::string* printed = nullptr;                  // what kernels print with vprintf is appended
  Counters* counters = nullptr;                    // what the launch did is added
  Findings* findings = nullptr;                    // what is wrong with the kernel
};

/// Whether the emulated device ("sm_90a") runs PTX of this .target: an equal or older one, and "a" targets only on their own.
bool can_run(std::string_view ptx_target, std::string_view device);

/// Runs a kernel to its end. False if there are findings, or would be were they asked for; the kernel may have been cut short then. A
/// launch that cannot end, for all warps wait for each other or for what no warp will write, and one that is given up are findings that
/// say where the warps are and what they wait for. Remarks
/// (Findings::remarks) change nothing.
/// Throws Error, naming the line of the PTX, if the launch itself is wrong: unknown kernel, too many threads or too much shared
/// memory, clusters that do not divide the grid, too few bytes of parameters, a target that this device cannot run.
bool launch(const Program&, std::string_view kernel, Memory&, const LaunchParams&);

}  // namespace tilewright::rt::emulator
