// What is measured beside each other: launches of a kernel of ours, of a library, or of another process.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "frontend/cli/bench/rows/kernel_row.h"

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

/// The contents of arrays by their names.
using Contents = std::map<std::string, std::vector<std::byte>, std::less<>>;

class Contender {
 public:
  virtual ~Contender() = default;
  /// Milliseconds of a launch: the mean of `launches` one after the other.
  virtual double time(int launches) = 0;
  /// The results of one launch on the arrays as they were at first; none if there is nothing to check.
  virtual Contents results() = 0;
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

/// A call that launches a kernel, or runs it, on copies of a case's arrays in the memory of the device. `settle`: the call has threads that
/// wait for work in loops.
std::unique_ptr<Contender> calls_on_device(const Device&, const Case&, std::function<void(DeviceTensors&)> call, bool settle = false);

/// Our kernel of a case.
std::unique_ptr<Contender> our_kernel(const Setting&, const Case&);

/// Fills those arrays of a case that a kernel before the measured one makes.
void prepare_inputs(const Setting&, Problem&);

/// Milliseconds of a call on the device's default stream: the mean of `calls`, by events on GPUs.
double time_calls(const Device&, int calls, const std::function<void()>& call);

/// Returns when the threads of a process compute no longer, or after half a second.
void wait_until_idle(int process);

}  // namespace tilewright::cli::bench
