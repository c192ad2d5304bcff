// Executes a kernel of a .tile file, on a device with the same code as launches of C++ kernels, or in the interpreter.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/compiled_kernel.h"
#include "frontend/cli/arguments/values.h"
#include "runtime/device.h"
#include "tilewright/buffer.h"
#include "tilewright/launch.h"

namespace tilewright::cli {

struct ExecutionOptions {
  std::string device = "cpu";  // a name for Device::open, or "interpreter"
  std::vector<std::int64_t> grid = {};
  int warps = 4;
  bool check = false;
  bool contract = true;
  bool skip_bad_accesses = false;  // interpreter only: an access outside of every buffer is skipped instead of being an Error
  std::uint64_t max_ops = std::uint64_t{1} << 32;  // ops of one program in the interpreter
};

/// Throws UsageError for a name that no device can have, Failure if this machine lacks the device.
std::shared_ptr<rt::Device> open_named_device(const std::string& name);

class Execution {
 public:
  /// Makes the buffers, and compiles the kernel for a device. `arguments` must outlive this object.
  Execution(const ir::Function&, const std::vector<Argument>& arguments, const ExecutionOptions&);

  /// Runs the kernel. Throws Error for a violation in checked mode. The interpreter always checks.
  void launch();
  /// Restores every buffer that the kernel may write to the contents of its argument.
  void restore();
  /// The contents of a parameter's buffer.
  std::vector<std::byte> contents(int parameter) const;

  std::string device_text() const;
  /// The counters of an emulated device since the last call, as text; empty for other devices.
  std::string counters_text();
  const std::vector<backend::PhaseTiming>& timings() const { return timings_; }

 private:
  void interpret();
  /// Fills a parameter's buffer with the contents of its argument. Does nothing for scalars.
  void fill(std::size_t parameter);

  ir::Function function_;
  const std::vector<Argument>& arguments_;
  ExecutionOptions options_;
  std::shared_ptr<rt::Device> device_;  // owns the buffers; the interpreter uses the cpu's memory
  rt::LaunchConfig config_;
  std::shared_ptr<const rt::Executable> executable_;  // null for the interpreter
  std::vector<detail::RawBuffer> buffers_;            // one for each parameter; empty for scalars
  std::vector<std::uint64_t> words_;
  std::vector<backend::PhaseTiming> timings_;
  std::string ptx_;  // empty except for GPUs
  backend::Resources resources_;
};

}  // namespace tilewright::cli
