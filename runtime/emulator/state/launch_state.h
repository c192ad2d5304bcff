// The state of a running launch that all of its blocks share.
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

/// The state that all blocks of a launch share. Worker threads run blocks at once, so what they change is atomic or has a mutex.
struct LaunchState {
  const LoadedModule* loaded = nullptr;  // the PTX module
  const Kernel* kernel = nullptr;
  std::span<const std::byte> params;                       // in the layout of the kernel's parameters
  std::array<u32, 3> grid{1, 1, 1}, block{1, 1, 1};        // in blocks, in threads
  std::array<u32, 3> cluster{1, 1, 1}, clusters{1, 1, 1};  // blocks in a cluster, clusters in the grid
  bool has_clusters = false;                               // the launch or the kernel requests them
  u64 dynamic_shared_bytes = 0;
  bool check = true, stop_at_diagnostic = false;
  bool fast_paths = true;  // see LaunchParams
  u64 instruction_limit = 0;
  const std::atomic<bool>* interrupted = nullptr;
  std::atomic<u64> changes{0};   // instructions and events so far that changed something visible to other warps (DeadlockWatch)
  std::atomic<u64> executed{0};  // warp instructions; while nothing changes, each poll counts as Worker::kPollWeight
  std::atomic<Ending> ending{Ending::none};
  /// Ends the launch. If there are several reasons, the first one is kept.
  void end(Ending why) {
    Ending none = Ending::none;
    ending.compare_exchange_strong(none, why);
  }
  Order order = Order::forward;
  AsyncOrder async_order = AsyncOrder::lazy;
  Diagnostics* diagnostics = nullptr;
  std::atomic<bool> has_diagnostics{false};
  // Block k has ticket first_ticket + k, which no earlier launch has used: so the shadow cells of global memory distinguish launches.
  u32 first_ticket = 0;
  u64 number = 0;       // %gridid
  u64 workspace = 0;    // for a cooperative launch: address of its grid barrier (%envreg1, %envreg2); else 0
  std::mutex printing;  // guards *printed
  std::string* printed = nullptr;
  std::vector<Range> ranges;                 // global memory, by address
  std::deque<DeferredReads> deferred_reads;  // Range::deferred points into it
  Releases releases;                         // the clocks released through locations in global memory
  std::mutex atomics;                        // held by atomics on global memory for which the host has no instruction
};

}  // namespace tilewright::rt::emulator
