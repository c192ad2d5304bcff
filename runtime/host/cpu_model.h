// The processor of this machine, and whether code for a level of x86-64 runs on it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::rt {

/// Name, threads and widest vector instructions: "AMD EPYC 9B14, 2 threads, AVX-512".
std::string cpu_description(int threads);

/// The number of threads that run a grid on the device "cpu": TILEWRIGHT_THREADS, else the hardware threads that the process may use.
int cpu_threads();

/// Why code for "x86-64", "x86-64-v3" or "x86-64-v4" cannot run here; empty if it can.
std::string reason_against_level(std::string_view level);

/// The sizes of caches in KiB; 0 if the system does not report them.
struct CacheSizes {
  int level2 = 0, last_level = 0;
  /// What a launch on this many threads can expect to hold. The last level is shared, in a virtual machine with others too, and the system
  /// reports all of it: some four times the second level remain for a thread.
  int kib_for(std::int64_t threads) const;
};
CacheSizes cache_sizes();

}  // namespace tilewright::rt
