// Deferred reads of global memory by bulk loads. They are kept as runs of bytes until another access to the allocation: few kernels write
// where they load, so the thousands of shadow cells are rarely needed.
#pragma once
#include <atomic>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

/// Contiguous bytes of global memory, or several rows of bytes at a constant stride.
struct GlobalRun {
  u64 address, bytes;  // address of the first row, and bytes of each row
  u32 rows = 1;
  u64 stride = 0;  // distance between rows

  /// The end of the last row.
  u64 end() const { return address + (rows - 1) * stride + bytes; }
  /// Calls f(address, bytes) for each row.
  template <class F>
  void each_row(F f) const {
    for (u64 row = 0; row < rows; ++row) f(address + row * stride, bytes);
  }
};

struct DeferredRead {
  u64 epoch;  // epoch for a whole sector
  u32 instruction;
};

/// The deferred reads of one allocation in one launch, in order. Thread-safe.
class DeferredReads {
 public:
  /// Keeps a read of these runs. Returns false if it must be checked now: the launch has written to the allocation, or too many are kept.
  bool add(const DeferredRead& read, std::span<const GlobalRun> runs) {
    const std::lock_guard lock(mutex_);
    if (is_written_ || runs_.size() + runs.size() > kMostRuns) return false;
    runs_.insert(runs_.end(), runs.begin(), runs.end());
    reads_.push_back({read, runs.size()});
    is_flushed_.store(false, std::memory_order_relaxed);
    return true;
  }
  /// Whether no deferred read must be recorded before a read or write.
  bool is_flushed(bool is_write) const { return (is_write ? is_written_ : is_flushed_).load(std::memory_order_acquire); }
  /// Calls remember(read, runs) for all deferred reads. Call it before any other access to the allocation.
  template <class F>
  void flush(bool is_write, F remember) {
    const std::lock_guard lock(mutex_);
    std::span<const GlobalRun> rest = runs_;
    for (const auto& [read, count] : reads_) {
      remember(read, rest.first(count));
      rest = rest.subspan(count);
    }
    reads_.clear();
    runs_.clear();
    is_flushed_.store(true, std::memory_order_release);
    if (is_write) is_written_.store(true, std::memory_order_release);
  }

 private:
  static constexpr std::size_t kMostRuns = 1 << 20;

  struct Kept {
    DeferredRead read;
    std::size_t runs;
  };
  std::mutex mutex_;
  std::vector<Kept> reads_;
  std::vector<GlobalRun> runs_;  // the runs of all reads
  std::atomic<bool> is_written_{false}, is_flushed_{true};
};

}  // namespace tilewright::rt::emulator
