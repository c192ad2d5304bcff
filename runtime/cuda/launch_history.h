// The last launches of a device. A failed kernel is reported by a later call, whose message names the kernels that were launched before.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "tilewright/here.h"

namespace tilewright::rt::cuda {

/// Launches write entries without a lock: if two threads write an entry at once, it may mix both, and a message may show a wrong name.
class LaunchHistory {
 public:
  /// `kernel` and the file of `where` must live as long as this object.
  void add(const std::string& kernel, const Here& where) noexcept;
  std::uint64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  /// Records that the first `count` launches have succeeded.
  void clear_until(std::uint64_t count) noexcept { good_.store(count, std::memory_order_relaxed); }
  /// "kernel 'softmax', launched at softmax.cpp:12,"; several kernels if any of them may have failed.
  std::string suspects() const;

 private:
  static constexpr std::uint64_t kKept = 8;
  struct Entry {
    std::atomic<const std::string*> kernel{nullptr};
    std::atomic<const char*> file{nullptr};
    std::atomic<std::uint32_t> line{0};
  };
  std::array<Entry, kKept> entries_;
  std::atomic<std::uint64_t> count_{0}, good_{0};
};

}  // namespace tilewright::rt::cuda
