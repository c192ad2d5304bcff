// The disk cache of compiled kernels: its contents, and how this process has used it.
#pragma once
#include <cstdint>
#include <string>

namespace tilewright {

/// The counts of this process start with the process, or when TILEWRIGHT_CACHE or TILEWRIGHT_CACHE_LIMIT last changed.
struct CacheStatistics {
  std::string folder;          // empty if there is no disk cache
  std::uint64_t hits = 0;      // kernels that this process loaded instead of compiling
  std::uint64_t misses = 0;    // kernels that this process had to compile
  std::uint64_t stores = 0;    // those of them that are now on disk
  std::uint64_t rejected = 0;  // files that were damaged
  std::uint64_t evicted = 0;   // entries that this process removed to keep the limit
  std::uint64_t entries = 0;   // entries on disk, of all processes
  std::uint64_t bytes = 0;     // their size on disk, in steps of 4 KiB
  std::uint64_t limit_bytes = 0;
};

/// Compiled kernels are kept in the folder TILEWRIGHT_CACHE (`off`: not at all; default: `tilewright` in the user's cache folder), at most
/// TILEWRIGHT_CACHE_LIMIT bytes (default: 1G); the least recently used are removed first. Reads the folder.
CacheStatistics cache_statistics();

}  // namespace tilewright
