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

/// The order in which blocks and warps run; correct kernels do not depend on it. Random: blocks begin in any order, several at a time, and
/// their warps take turns of random lengths.
enum class Order : u8 { forward, backward, random };

/// When asynchronous work is executed: lazy: when no warp can continue without it; eager: immediately; random: either.
enum class AsyncOrder : u8 { lazy, eager, random };

/// Minutes of work, or half a minute of polling memory that does not change.
inline constexpr u64 kDefaultInstructionLimit = 10'000'000'000;

struct LaunchParams {
  std::array<u32, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::array<u32, 3> cluster{};  // blocks in a cluster; 0: as the kernel requires
  u64 dynamic_shared_bytes = 0;
  std::span<const std::byte> params;  // in the layout of the kernel's parameters
  std::string target = "sm_90a";      // the emulated device
  bool check = true;                  // also checks races and reads of unwritten shared memory; bounds and alignment are always checked
  Order order = Order::forward;
  AsyncOrder async_order = AsyncOrder::lazy;
  u64 seed = 0;        // for random AsyncOrder
  u64 order_seed = 0;  // for random Order
  int workers = 0;     // threads that run blocks; 0: one for each core, or one in random order, so that a seed can be repeated
  // Checks, loads and stores may use fast paths besides their plain rules. Both give the same results and reports, which tests compare.
  bool fast_paths = true;
  bool stop_at_diagnostic = false;  // give the launch up soon after the first one
  // The number of warp instructions after which the launch is given up as endless; polls that find no change count more; 0: no limit.
  u64 instruction_limit = kDefaultInstructionLimit;
  const std::atomic<bool>* interrupted = nullptr;  // the launch is given up when this becomes true
  bool cooperative = false;                        // blocks may wait for each other, as cooperative groups do
  std::string* printed = nullptr;                  // receives text that kernels print with vprintf
  Counters* counters = nullptr;                    // receives the counts of the launch
  Diagnostics* diagnostics = nullptr;              // receives errors of the kernel
};

}  // namespace tilewright::rt::emulator
