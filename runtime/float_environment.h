// The modes of floating-point arithmetic in which the library computes, whatever modes the application has set.
#pragma once
#include <cfenv>

namespace tilewright::rt {

/// While this object lives, this thread rounds to nearest, keeps subnormal numbers and raises no signals, so that results do not depend on the
/// modes of the thread that launches or compiles, nor on which thread runs a program. The destructor restores the thread's modes; if the
/// constructor changed them, also its exception flags. A thread that has these modes already pays for reading two control registers.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() noexcept {
    if (!is_set()) [[unlikely]]
      set();
  }
  ~DefaultFloatEnvironment() {
    if (is_changed_) [[unlikely]]
      restore();
  }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

  /// Whether this thread has the modes.
  static bool is_set() noexcept;

 private:
  void set() noexcept;
  void restore() noexcept;

  std::fenv_t before_;  // valid if is_changed_
  bool is_changed_ = false;
};

}  // namespace tilewright::rt
