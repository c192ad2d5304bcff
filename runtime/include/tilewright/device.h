// Devices: opening them, and allocating and filling memory on them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/buffer.h"
#include "tilewright/here.h"
#include "tilewright/stream.h"

namespace tilewright {

/// A device of this machine, as listed by Device::list().
struct DeviceInfo {
  std::string name, description;
  bool usable = false;
  std::string reason;  // why it is not usable
};

/// The counters of the instructions of one source line of a kernel. A sector is 32 bytes of global memory; a wavefront takes one word from
/// each bank of shared memory. `least_`: their number if the same bytes were adjacent and in different banks.
struct LineReport {
  std::string file;  // empty: instructions without a line
  int line = 0;
  std::uint64_t instructions = 0;  // executed by warps
  std::uint64_t global_requests = 0, sectors = 0, least_sectors = 0;
  std::uint64_t shared_requests = 0, wavefronts = 0, least_wavefronts = 0;
};
/// The counters of all launches of one kernel on an emulated device. Each specialization of a kernel has its own report.
struct KernelReport {
  std::string kernel;
  std::uint64_t launches = 0, programs = 0, instructions = 0;
  std::vector<LineReport> lines;  // sorted by file and line
};

/// A handle to a device; copies refer to the same device. Buffers and streams keep the device alive.
class Device {
 public:
  /// The best available device: "cuda:0" if it is usable, else "cpu".
  static Device open(Here at = Here::current());
  /// "cpu", "cpu:x86-64-v3" (code for an older processor), "cuda:1", "emulator:sm_80". Throws Error that lists the available devices.
  static Device open(std::string_view name, Here at = Here::current());
  /// All devices of this machine; for those that cannot be used, the reason.
  static std::vector<DeviceInfo> list();

  Device(const Device&) = default;
  Device& operator=(const Device&) = default;

  const std::string& name() const;
  std::string description() const;
  /// Waits for all work of the device.
  void synchronize(Here at = Here::current()) const;
  /// The number of bytes that could be allocated now.
  std::size_t free_memory() const;
  /// The counters of each kernel since the last call on an emulated device; empty for other devices.
  std::vector<KernelReport> take_reports() const;

  /// A buffer that holds a copy of the values.
  template <ValueElement T>
  Buffer<T> upload(const std::vector<T>& values, Here at = Here::current()) const {
    Buffer<T> buffer = allocate<T>(values.size(), at);
    buffer.upload(values, at);
    return buffer;
  }
  template <class T, std::size_t N>
    requires ValueElement<std::remove_const_t<T>>
  Buffer<std::remove_const_t<T>> upload(std::span<T, N> values, Here at = Here::current()) const {
    auto buffer = allocate<std::remove_const_t<T>>(values.size(), at);
    buffer.upload(std::span<const std::remove_const_t<T>>(values), at);
    return buffer;
  }
  /// A buffer of `count` elements whose contents are undefined.
  template <ValueElement T>
  Buffer<T> allocate(Extent count, Here at = Here::current()) const {
    return Buffer<T>(detail::RawBuffer(device_, detail::CodeOf<T>::value, count.value, at));
  }
  /// Wraps, as a buffer, memory that the caller owns and this device can access; the memory must outlive the buffer.
  template <ValueElement T>
  Buffer<T> wrap(T* memory, Extent count, Here at = Here::current()) const {
    return Buffer<T>(detail::RawBuffer(device_, detail::CodeOf<T>::value, memory, count.value, at));
  }
  /// A new stream.
  Stream stream(Here at = Here::current()) const;
  /// Wraps a stream that the caller owns: a CUstream or cudaStream_t of this device's primary context; null is the default stream. It must
  /// outlive the returned stream. Launches on it follow the work that the caller has submitted, also during graph capture.
  Stream wrap_stream(void* native, Here at = Here::current()) const;

  // For use by the library only; never null.
  explicit Device(std::shared_ptr<rt::Device> device) : device_(std::move(device)) {}
  const std::shared_ptr<rt::Device>& handle() const { return device_; }

 private:
  std::shared_ptr<rt::Device> device_;
};

}  // namespace tilewright
