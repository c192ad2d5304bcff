// The disk cache of compiled kernels: what this process has found in it, and what it holds.
#pragma once
#include <cstdint>
#include <string>

namespace tilewright {

/// The numbers of this process are since its start, or since TILEWRIGHT_CACHE or TILEWRIGHT_CACHE_LIMIT last changed.
struct CacheStatistics {
  std::string folder;          // empty: there is no disk cache
  std::uint64_t hits = 0;      // kernels of this process that were not compiled
  std::uint64_t misses = 0;    // that were
  std::uint64_t stores = 0;    // of those, which are on disk now
  std::uint64_t rejected = 0;  // files that were damaged
  std::uint64_t evicted = 0;   // entries that this process removed to keep the limit
  std::uint64_t entries = 0;   // of all processes, on disk
  std::uint64_t bytes = 0;     // that they take, in steps of 4 KiB
  std::uint64_t limit_bytes = 0;
};

/// Compiled kernels are kept in the folder TILEWRIGHT_CACHE (`off`: nowhere; default: `tilewright` in the user's cache folder), at most
/// TILEWRIGHT_CACHE_LIMIT bytes (default: 1G), least recently used first out. Reads the folder.
CacheStatistics cache_statistics();

}  // namespace tilewright
