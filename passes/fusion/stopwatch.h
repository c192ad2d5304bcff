// Measures phases of compiling a graph.
#pragma once
#include <chrono>

namespace tilewright::passes::fusion {

/// Adds the time until stop() to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& ms) : ms_(ms), start_(Clock::now()) {}
  void stop() { ms_ += std::chrono::duration<double, std::milli>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  double& ms_;
  Clock::time_point start_;
};

}  // namespace tilewright::passes::fusion
