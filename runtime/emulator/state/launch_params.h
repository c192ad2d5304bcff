// The parameters of a launch.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <string>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

struct Counters;
class Diagnostics;

/// Which block and which warp runs when. Correct kernels do not depend on it. Random: blocks begin in any order, several at a time, and
/// warps of theirs take turns of random lengths.
enum class Order : u8 { forward, backward, random };

/// When asynchronous work is done: lazy: when no warp can go on without it; eager: at once; random: either.
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
  u64 seed = 0;        // of the random AsyncOrder
  u64 order_seed = 0;  // of the random Order
  int workers = 0;     // threads that run blocks; 0: one a core, or a single one in random order, which a seed then repeats
  // Checks, loads and stores may take fast paths beside their plain rules. Both give the same results and reports; tests compare them.
  bool fast_paths = true;
  bool stop_at_diagnostic = false;  // gives the launch up soon after the first one
  // Warp instructions after which the launch is given up as endless, polls that find nothing new counting more; 0: none.
  u64 instruction_limit = kDefaultInstructionLimit;
  const std::atomic<bool>* interrupted = nullptr;  // gives the launch up once it is true
  bool cooperative = false;                        // blocks may wait for each other, as cooperative groups do
  std::string* printed = nullptr;                  // what kernels print with vprintf is appended
  Counters* counters = nullptr;                    // what the launch did is added
  Diagnostics* diagnostics = nullptr;              // what is wrong with the kernel
};

}  // namespace tilewright::rt::emulator
