// Reads of global memory by bulk loads. They are kept as they are until somebody else accesses the allocation: mostly nobody writes there
// in the same launch, so that what reads would leave in thousands of cells is never asked for.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/emulator/scalar_types.h"

namespace tilewright::rt::emulator {

/// Bytes of global memory that follow each other.
struct GlobalRun {
  u64 address, bytes;
};
using GlobalRuns = std::shared_ptr<const std::vector<GlobalRun>>;

struct LateRead {
  u64 stamp;
  u32 instruction;
  GlobalRuns runs;
};

/// Those of one allocation in one launch, in their order. Thread-safe.
class LateReads {
 public:
  /// Keeps a read, in which there is nothing to find. False if the launch has written to the allocation, or too much is kept.
  bool add(LateRead read) {
    const std::lock_guard lock(mutex_);
    if (is_written_ || runs_ + read.runs->size() > kMostRuns) return false;
    runs_ += read.runs->size();
    reads_.push_back(std::move(read));
    is_settled_.store(false, std::memory_order_relaxed);
    return true;
  }
  /// Calls remember(read) for what is kept, ahead of any other access to the allocation.
  template <class F>
  void settle(bool is_write, F remember) {
    if ((is_write ? is_written_ : is_settled_).load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    for (const LateRead& read : reads_) remember(read);
    reads_.clear();
    runs_ = 0;
    is_settled_.store(true, std::memory_order_release);
    if (is_write) is_written_.store(true, std::memory_order_release);
  }

 private:
  static constexpr std::size_t kMostRuns = 1 << 20;

  std::mutex mutex_;
  std::vector<LateRead> reads_;
  std::size_t runs_ = 0;  // of them
  std::atomic<bool> is_written_{false}, is_settled_{true};
};

}  // namespace tilewright::rt::emulator
