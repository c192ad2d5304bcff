// Handles Ctrl-C, and the signal that ends a program, during a launch on an emulator, which then reports where its warps are, and in bench.
#pragma once
#include <atomic>

namespace tilewright::cli {

/// While this object lives, the first SIGINT or SIGTERM sets the flag; the next one ends the program in the usual way.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  static const std::atomic<bool>& flag();
};

/// Flushes the output and ends the program by the signal that interrupted it, if one did, so that a shell stops its script.
void end_if_interrupted();

}  // namespace tilewright::cli
