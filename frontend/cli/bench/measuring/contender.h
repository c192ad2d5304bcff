// Contenders of a measurement: a kernel of this library, of another library, or of another process.
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

/// Thrown if a peer is missing or has no such kernel; what() is the reason.
class Unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The setting that all contenders of one benchmark share.
struct Setting {
  Device device;
  kernels::Options options;
  std::string folder;  // holds files that other processes read
};
/// Opens the device that the command line names, or the best one for an empty name. Throws UsageError for a name that no device can have,
/// Failure if this machine lacks the device.
Device open_measured_device(const std::string& name);

inline bool is_gpu(const Device& d) { return d.name().starts_with("cuda"); }
inline bool is_emulator(const Device& d) { return d.name().starts_with("emulator:"); }

/// The contents of arrays by name.
using Contents = std::map<std::string, std::vector<std::byte>, std::less<>>;

class Contender {
 public:
  virtual ~Contender() = default;
  /// Milliseconds per launch: the mean of `launches` launches in a row.
  virtual double time(int launches) = 0;
  /// The results of one launch on the original arrays; empty if there is nothing to check.
  virtual Contents results() = 0;
  /// Returns when its threads no longer compute. Threads of libraries wait for their next work in loops.
  virtual void settle() {}
};

/// One problem of a row of the kernel table, with its shape and element type.
struct Case {
  const KernelRow* row;
  Shape shape;
  ir::Element type;
  Problem problem;
};

/// Another library or program that is measured beside the kernels of this library.
class Peer {
 public:
  virtual ~Peer() = default;
  /// For instance "openblas", with its version and its number of threads.
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  /// Throws Unavailable if the peer has no such kernel. The case must outlive the contender.
  virtual std::unique_ptr<Contender> prepare(const Case&) = 0;
};

/// A call that launches a kernel, or runs it, on copies of a case's arrays in device memory. `settle`: the call has threads that wait for
/// work in loops.
std::unique_ptr<Contender> calls_on_device(const Device&, const Case&, std::function<void(DeviceTensors&)> call, bool settle = false);

/// This library's kernel for a case.
std::unique_ptr<Contender> our_kernel(const Setting&, const Case&);

/// Fills the arrays of a case that another kernel produces before the measured one.
void prepare_inputs(const Setting&, Problem&);

/// Milliseconds per call on the device's default stream: the mean of `calls`. GPUs measure with events.
double time_calls(const Device&, int calls, const std::function<void()>& call);

/// Returns when the threads of a process no longer compute, or after half a second.
void wait_until_idle(int process);

}  // namespace tilewright::cli::bench
