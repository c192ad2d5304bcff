// An object pool: memory that launches of a kernel leave for later launches.
#pragma once
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace tilewright::rt::emulator {

/// Keeps up to `most` unused objects for reuse. Thread-safe.
template <class T>
class ObjectPool {
 public:
  explicit ObjectPool(std::size_t most) : most_(most) {}

  /// An unused object, or a new one if there is none.
  T take() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return T();
    T last = std::move(spare_.back());
    spare_.pop_back();
    return last;
  }
  void give(T object) {
    const std::lock_guard lock(mutex_);
    if (spare_.size() < most_) spare_.push_back(std::move(object));
  }

 private:
  std::size_t most_;
  std::mutex mutex_;
  std::vector<T> spare_;
};

}  // namespace tilewright::rt::emulator
