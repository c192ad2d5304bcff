// The processor of this machine, and whether code for a level of x86-64 runs on it.
#pragma once
#include <string>
#include <string_view>

namespace tilewright::rt {

/// Name, threads and widest vector instructions: "AMD EPYC 9B14, 2 threads, AVX-512".
std::string cpu_description();

/// The number of threads that run a grid: TILEWRIGHT_THREADS, else the hardware threads that the process may use.
int cpu_threads();

/// Why code for "x86-64", "x86-64-v3" or "x86-64-v4" cannot run here; empty if it can.
std::string reason_against_level(std::string_view level);

/// The size of the last-level cache in KiB; 0 if the system does not report it.
int last_level_cache_kib();

}  // namespace tilewright::rt
