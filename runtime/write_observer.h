// Tells a measurement which memory calls on its thread are about to write, so that it can restore the memory.
#pragma once
#include <cstdint>
#include <utility>

#include "tilewright/here.h"

namespace tilewright::rt {

class Device;
class Stream;

class WriteObserver {
 public:
  /// `at`: the user's line of the measurement.
  explicit WriteObserver(const Here& at) : at_(at) {}
  virtual ~WriteObserver() = default;
  WriteObserver(const WriteObserver&) = delete;
  WriteObserver& operator=(const WriteObserver&) = delete;

  /// Called before work is submitted to the stream, by the user's line `at`, that may write the bytes from `begin` to `end`.
  virtual void before_write(Device&, std::uint64_t begin, std::uint64_t end, Stream&, const Here& at) = 0;
  const Here& at() const { return at_; }

  /// The observer of this thread; null if no measurement runs on it.
  static WriteObserver* current() { return current_; }

 private:
  friend class ObservedWrites;
  static constinit thread_local WriteObserver* current_;
  Here at_;
};

/// Makes an observer the thread's current one while this object lives.
class ObservedWrites {
 public:
  explicit ObservedWrites(WriteObserver& observer) : outer_(std::exchange(WriteObserver::current_, &observer)) {}
  ~ObservedWrites() { WriteObserver::current_ = outer_; }
  ObservedWrites(const ObservedWrites&) = delete;
  ObservedWrites& operator=(const ObservedWrites&) = delete;

 private:
  WriteObserver* outer_;
};

}  // namespace tilewright::rt
