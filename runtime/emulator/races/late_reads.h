// Reads of global memory by bulk loads. They are kept as they are until somebody else accesses the allocation: mostly nobody writes there
// in the same launch, so that what reads would leave in thousands of cells is never asked for.
#pragma once
#include <atomic>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

/// Bytes of global memory that follow each other, or several rows of such, equally far apart.
struct GlobalRun {
  u64 address, bytes;  // of the first row, and a row
  u32 rows = 1;
  u64 stride = 0;  // from one row to the next

  /// Where the last row ends.
  u64 end() const { return address + (rows - 1) * stride + bytes; }
  /// Calls f(address, bytes) for each row.
  template <class F>
  void each_row(F f) const {
    for (u64 row = 0; row < rows; ++row) f(address + row * stride, bytes);
  }
};

struct LateRead {
  u64 stamp;
  u32 instruction;
};

/// Those of one allocation in one launch, in their order. Thread-safe.
class LateReads {
 public:
  /// Keeps a read of these runs, in which there is nothing to find. False if the launch has written to the allocation, or too much is kept.
  bool add(const LateRead& read, std::span<const GlobalRun> runs) {
    const std::lock_guard lock(mutex_);
    if (is_written_ || runs_.size() + runs.size() > kMostRuns) return false;
    runs_.insert(runs_.end(), runs.begin(), runs.end());
    reads_.push_back({read, runs.size()});
    is_settled_.store(false, std::memory_order_relaxed);
    return true;
  }
  /// Whether there is nothing to do ahead of a read or write.
  bool is_settled(bool is_write) const { return (is_write ? is_written_ : is_settled_).load(std::memory_order_acquire); }
  /// Calls remember(read, runs) for what is kept, ahead of any other access to the allocation.
  template <class F>
  void settle(bool is_write, F remember) {
    const std::lock_guard lock(mutex_);
    std::span<const GlobalRun> rest = runs_;
    for (const auto& [read, count] : reads_) {
      remember(read, rest.first(count));
      rest = rest.subspan(count);
    }
    reads_.clear();
    runs_.clear();
    is_settled_.store(true, std::memory_order_release);
    if (is_write) is_written_.store(true, std::memory_order_release);
  }

 private:
  static constexpr std::size_t kMostRuns = 1 << 20;

  struct Kept {
    LateRead read;
    std::size_t runs;
  };
  std::mutex mutex_;
  std::vector<Kept> reads_;
  std::vector<GlobalRun> runs_;  // of all of them
  std::atomic<bool> is_written_{false}, is_settled_{true};
};

}  // namespace tilewright::rt::emulator
