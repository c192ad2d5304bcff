// Handles SIGINT (Ctrl-C) and SIGTERM during benchmarks and launches on an emulator, which then reports where its warps are.
#pragma once
#include <atomic>

namespace tilewright::cli {

/// While this object lives, the first SIGINT or SIGTERM sets the flag. After that a SIGINT ends the program as usual; a SIGTERM changes
/// nothing, since `timeout` sends two.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  static const std::atomic<bool>& flag();
};

/// If a signal interrupted the program, flushes the output and ends the program with that signal, so that a shell stops its script.
void end_if_interrupted();

}  // namespace tilewright::cli
