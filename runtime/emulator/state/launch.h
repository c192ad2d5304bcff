// The state of a running launch that all of its blocks use.
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

/// The state that all blocks of a launch use. Worker threads run blocks at the same time: what they change is atomic or has a mutex.
struct Launch {
  const LoadedModule* program = nullptr;  // the PTX module
  const Kernel* kernel = nullptr;
  std::span<const std::byte> params;                       // laid out as the kernel's parameters are
  std::array<u32, 3> grid{1, 1, 1}, block{1, 1, 1};        // in blocks, in threads
  std::array<u32, 3> cluster{1, 1, 1}, clusters{1, 1, 1};  // blocks of a cluster, clusters of the grid
  bool has_clusters = false;                               // the launch or the kernel asks for them
  u64 dynamic_shared_bytes = 0;
  bool check = true, stop_at_diagnostic = false;
  bool fast_paths = true;  // see LaunchParams
  u64 instruction_limit = 0;
  const std::atomic<bool>* interrupted = nullptr;
  std::atomic<u64> changes{0};   // instructions and events so far that changed what other warps can see (DeadlockWatch)
  std::atomic<u64> executed{0};  // warp instructions, and while nothing changes Worker::kPollWeight for each poll
  std::atomic<Ending> ending{Ending::none};
  /// Ends the launch. Of several reasons the first one is kept.
  void end(Ending why) {
    Ending none = Ending::none;
    ending.compare_exchange_strong(none, why);
  }
  Order order = Order::forward;
  AsyncOrder async_order = AsyncOrder::lazy;
  Diagnostics* diagnostics = nullptr;
  std::atomic<bool> has_diagnostics{false};
  // Block k has ticket first_ticket + k, which no earlier launch used: so the shadow cells of global memory tell launches apart.
  u32 first_ticket = 0;
  u64 number = 0;       // %gridid
  u64 workspace = 0;    // of a cooperative launch: the address of its grid barrier (%envreg1, %envreg2); else 0
  std::mutex printing;  // guards *printed
  std::string* printed = nullptr;
  std::vector<Range> ranges;                 // global memory, by address
  std::deque<DeferredReads> deferred_reads;  // Range::deferred points into it
  Releases releases;                         // the clocks that were released through locations in global memory
  std::mutex atomics;                        // held by atomics on global memory that the host has no instruction for
};

}  // namespace tilewright::rt::emulator
