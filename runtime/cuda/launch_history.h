// Which kernels were launched last. A kernel that fails shows up in some later call, and this is what that call can name.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "tilewright/here.h"

namespace tilewright::rt::cuda {

/// Written by every launch, so without locks: entries that two threads write at once may mix, which costs a wrong name in a message.
class LaunchHistory {
 public:
  /// `kernel` and the file of `where` must live as long as this object.
  void add(const std::string& kernel, const Here& where) noexcept;
  std::uint64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  /// The first `count` launches are known to have ended well.
  void clear_until(std::uint64_t count) noexcept { good_.store(count, std::memory_order_relaxed); }
  /// "kernel 'softmax', launched at softmax.cpp:12,"; several if it may be any of them.
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
