// The interface of devices, modelled on the CUDA driver API: memory, streams, events, loaded kernels and launches. The public Device,
// Buffer, Stream and Event are handles to these objects, and keep them alive.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backend/compiled_kernel.h"
#include "runtime/memory_registry.h"
#include "tilewright/here.h"

namespace tilewright::rt {

class Device;

/// A point in the work of a stream.
class Event {
 public:
  explicit Event(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  virtual ~Event() = default;
  /// Milliseconds from this event to a later one of the same device; waits for both.
  virtual double elapsed_ms(const Event& later) const = 0;
  Device& device() const { return *device_; }

 private:
  std::shared_ptr<Device> device_;
};

/// A queue of work that is executed in order and without overlap, whichever threads submit it.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void synchronize() = 0;
  virtual std::shared_ptr<Event> record() = 0;
  /// Later work of this stream starts after the event. Requires: an event of the same device.
  virtual void wait(const Event&) = 0;
  /// The driver's own handle, or null.
  virtual void* native() const = 0;
  /// Whether submitted work becomes part of a graph that the user captures, and is executed when the user launches that graph.
  virtual bool is_capturing() const { return false; }
};

/// A kernel that is loaded on a device. It keeps the device alive, and is unloaded when it is destroyed.
class Executable {
 public:
  virtual ~Executable() = default;
  /// Messages of the device's assembler that are not errors: warnings, spills. They were logged when the kernel was loaded.
  const std::vector<std::string>& remarks() const { return remarks_; }

 protected:
  std::vector<std::string> remarks_;
};

/// The largest grid along each axis, on every device: CUDA C++ Programming Guide, "Compute Capabilities"; the same since 3.0.
inline constexpr std::array<std::int32_t, 3> kMostPrograms{2147483647, 65535, 65535};

struct LaunchConfig {
  std::array<std::int32_t, 3> grid{1, 1, 1};  // each at least 1 and at most kMostPrograms
  int num_warps = 4;
  bool check = false;  // the kernel was compiled for checked mode
  Here where = {};     // the user's line of the launch
};

/// A launch with its arguments.
struct PreparedLaunch {
  const Executable* executable = nullptr;
  LaunchConfig config;
  std::vector<std::uint64_t> arguments;
};

/// Launches that follow each other and are submitted as one. Only one thread at a time may use it. The executables must outlive it.
class LaunchSequence {
 public:
  virtual ~LaunchSequence() = default;
  /// Submits these launches. They may differ from those of the previous call. Throws as Device::launch. Requires: no capture of the stream.
  virtual void launch(std::span<const PreparedLaunch>, Stream&) = 0;
};

/// One device. Every function may be called from any thread. Functions without a parameter for the user's line throw UnplacedDeviceError if
/// the device fails (device_failure.h). Addresses are device addresses; on the cpu they are pointers.
class Device : public std::enable_shared_from_this<Device> {
 public:
  explicit Device(std::string name) : name_(std::move(name)) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// The name for Device::open: "cpu", "cuda:0".
  const std::string& name() const { return name_; }
  virtual std::string description() const = 0;
  /// The version of the driver; empty if there is none.
  virtual std::string driver_version() const { return ""; }
  /// The target for backend::compile.
  virtual std::string target() const = 0;
  virtual std::size_t free_memory() const = 0;
  /// The number of threads that share a grid on a cpu; 0: not a cpu.
  virtual int host_threads() const { return 0; }

  /// Allocates memory, at least 64-byte aligned; 0 bytes also give a valid address. Throws std::bad_alloc.
  virtual std::uint64_t allocate(std::size_t bytes) = 0;
  virtual void release(std::uint64_t address, std::size_t bytes) noexcept = 0;
  /// Transfers; they are complete when they return.
  virtual void copy_in(std::uint64_t to, const void* from, std::size_t bytes, Stream&) = 0;
  virtual void copy_out(void* to, std::uint64_t from, std::size_t bytes, Stream&) = 0;
  /// Copies between memory of this device that does not overlap; the copy may be unfinished when this returns.
  virtual void copy(std::uint64_t to, std::uint64_t from, std::size_t bytes, Stream&) = 0;
  /// Writes `count` copies of a pattern of 1, 2, 4 or 8 bytes.
  virtual void fill(std::uint64_t to, const void* pattern, std::size_t pattern_bytes, std::size_t count, Stream&) = 0;

  /// Why this device cannot reach memory at this address; empty if it can, or if that is unknown.
  virtual std::string reason_against(std::uint64_t /*address*/) const { return ""; }

  virtual std::shared_ptr<Stream> create_stream() = 0;
  /// Wraps a driver's stream that the caller owns. Throws Error at the user's line if it does not belong to this device.
  virtual std::shared_ptr<Stream> wrap_stream(void* native, const Here&) = 0;
  /// The stream of launches and transfers that do not name a stream.
  virtual Stream& default_stream() = 0;
  /// Waits for the work of all streams.
  virtual void synchronize() = 0;

  /// Throws DeviceError at `where` if the image cannot be loaded.
  virtual std::shared_ptr<const Executable> load(const backend::CompiledKernel&, const Here& where) = 0;
  /// `arguments`: 8 bytes for each parameter, its bits in the low end. Throws Error for a violation that checked mode found.
  virtual void launch(const Executable&, const LaunchConfig&, std::span<const std::uint64_t> arguments, Stream&) = 0;

  /// Null if the device has no graphs; then launches are submitted one by one.
  virtual std::unique_ptr<LaunchSequence> create_sequence() { return nullptr; }

  MemoryRegistry& memory() { return memory_; }

  /// The facts on which measurements on this device depend: its target, description and driver version. The device is asked once.
  struct Identity {
    std::string device, driver;
  };
  const Identity& identity() {
    std::call_once(identified_, [&] { identity_ = {target() + ", " + description(), driver_version()}; });
    return identity_;
  }

 private:
  std::string name_;
  std::once_flag identified_;
  Identity identity_;
  MemoryRegistry memory_;
};

}  // namespace tilewright::rt
