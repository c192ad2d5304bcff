// What processor this machine has, and whether code for a level of x86-64 runs on it.
#pragma once
#include <string>
#include <string_view>

namespace tilewright::rt {

/// Name, threads and widest vector instructions: "AMD EPYC 9B14, 2 threads, AVX-512".
std::string cpu_description();

/// How many threads run a grid: TILEWRIGHT_THREADS, else what the process may use of the hardware.
int cpu_threads();

/// Why code for "x86-64", "x86-64-v3" or "x86-64-v4" cannot run here; empty if it can.
std::string reason_against_level(std::string_view level);

/// Of the last-level cache, in KiB; 0 where the system does not say.
int last_level_cache_kib();

}  // namespace tilewright::rt
