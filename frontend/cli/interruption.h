// Ctrl-C during a launch on an emulator, which then says where its warps are.
#pragma once
#include <atomic>

namespace tilewright::cli {

/// While it lives, the first SIGINT makes the flag true; the next one ends the program as it would without this.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  static const std::atomic<bool>& flag();
};

/// Ends the program by SIGINT if that was what interrupted it, so that a shell stops its script. What was written is flushed.
void end_if_interrupted();

}  // namespace tilewright::cli
