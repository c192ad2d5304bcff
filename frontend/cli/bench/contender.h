// What is measured beside each other: launches of a kernel of ours, of a library, or of another process.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/cli/bench/kernel_row.h"

namespace tilewright::cli::bench {

/// A peer is not there, or has no such kernel; what() is the reason.
class Unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What all contenders of one benchmark have in common.
struct Setting {
  Device device;
  kernels::Options options;
  std::string folder;  // for files that other processes read
};
/// The device of a command line; empty: the best one. Throws UsageError for a name that no device can have, Failure if it is not there.
Device open_measured_device(const std::string& name);

inline bool is_gpu(const Device& d) { return d.name().starts_with("cuda"); }
inline bool is_emulator(const Device& d) { return d.name().starts_with("emulator:"); }

class Contender {
 public:
  virtual ~Contender() = default;
  /// Milliseconds of a launch: the mean of `launches` one after the other.
  virtual double time(int launches) = 0;
  /// A result of one launch on the arrays as they were at first; empty if there is nothing to check.
  virtual std::vector<std::byte> result(std::string_view tensor) = 0;
  /// Returns when its threads do not compute any more: threads of libraries wait for their next work in loops.
  virtual void settle() {}
};

/// A problem with its row, shape and element type.
struct Case {
  const KernelRow* row;
  Shape shape;
  ir::Element type;
  Problem problem;
};

/// A library or program beside which our kernels are measured.
class Peer {
 public:
  virtual ~Peer() = default;
  /// "openblas", and which version of it, with how many threads.
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  /// Throws Unavailable if it has no such kernel. The case must outlive the contender.
  virtual std::unique_ptr<Contender> prepare(const Case&) = 0;
};

/// Our kernel of a case.
std::unique_ptr<Contender> our_kernel(const Setting&, const Case&);

/// Milliseconds of a call on the device's default stream: the mean of `calls`, by events on GPUs.
double time_calls(const Device&, int calls, const std::function<void()>& call);

/// Returns when the threads of a process compute no longer, or after half a second.
void wait_until_idle(int process);

}  // namespace tilewright::cli::bench
