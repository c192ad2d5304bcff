// Handles Ctrl-C during a launch on an emulator, which then reports where its warps are.
#pragma once
#include <atomic>

namespace tilewright::cli {

/// While this object lives, the first SIGINT sets the flag; the next one ends the program in the usual way.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  static const std::atomic<bool>& flag();
};

/// Flushes the output and ends the program by SIGINT if SIGINT interrupted it, so that a shell stops its script.
void end_if_interrupted();

}  // namespace tilewright::cli
