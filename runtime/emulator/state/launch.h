// What all blocks of a running launch share.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/emulator/program/program.h"
#include "runtime/emulator/shadow/acquire_clocks.h"
#include "runtime/emulator/shadow/deferred_reads.h"
#include "runtime/emulator/shadow/global_shadow.h"
#include "runtime/emulator/state/diagnostics.h"
#include "runtime/emulator/state/launch_params.h"

namespace tilewright::rt::emulator {

/// Why a launch ends before its blocks do.
enum class Ending : u8 { none, deadlock, limit, interrupted };

/// What all blocks of a launch share.
struct Launch {
  const LoadedModule* program = nullptr;
  const Kernel* kernel = nullptr;
  std::span<const std::byte> params;
  std::array<u32, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::array<u32, 3> cluster{1, 1, 1}, clusters{1, 1, 1};  // blocks of a cluster, clusters of the grid
  bool has_clusters = false;                               // the launch or the kernel asks for them
  u64 dynamic_shared_bytes = 0;
  bool check = true, stop_at_diagnostic = false;
  bool fast_paths = true;  // see LaunchParams
  u64 instruction_limit = 0;
  const std::atomic<bool>* interrupted = nullptr;
  std::atomic<u64> changes{0};   // instructions and events so far that changed what other warps see
  std::atomic<u64> executed{0};  // warp instructions and polls, as the limit counts them
  std::atomic<Ending> ending{Ending::none};
  /// The first reason counts.
  void end(Ending why) {
    Ending none = Ending::none;
    ending.compare_exchange_strong(none, why);
  }
  Order order = Order::forward;
  AsyncOrder async_order = AsyncOrder::lazy;
  Diagnostics* diagnostics = nullptr;
  std::atomic<bool> has_diagnostics{false};
  u32 first_ticket = 0;
  u64 number = 0;     // %gridid
  u64 workspace = 0;  // of a cooperative launch: where its blocks count each other
  std::mutex printing;
  std::string* printed = nullptr;
  std::vector<Range> ranges;  // sorted
  std::deque<DeferredReads> deferred_reads;
  Releases releases;   // through global memory
  std::mutex atomics;  // of global memory that the host has no atomic instruction for
};

}  // namespace tilewright::rt::emulator
