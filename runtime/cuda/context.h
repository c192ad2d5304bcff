// The primary context of a CUDA device, which is made current only during each call, and the errors of its calls.
#pragma once
#include <mutex>
#include <new>
#include <set>
#include <string>

#include "runtime/cuda/driver.h"
#include "runtime/cuda/launch_history.h"
#include "tilewright/here.h"

// Calls a function of a context's driver and throws if it fails. `where`: the user's line, or Here() if it is not known.
#define TW_CUDA_CALL(context, where, function, ...) (context).expect((context).driver().function(__VA_ARGS__), #function, where)

namespace tilewright::rt::cuda {

/// The CUDA runtime uses the primary context too, so each can use memory, streams and events of the other. The context is retained while
/// this object lives, and is never reset or destroyed.
class Context {
 public:
  /// `is_emulated`: the driver is the emulator, whose context remains usable after a kernel failed. Throws DeviceError at `where`.
  Context(const Driver&, CUdevice, std::string device_name, bool is_emulated, const Here& where);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Driver& driver() const { return driver_; }
  CUcontext handle() const { return handle_; }
  CUdevice device() const { return device_; }
  const std::string& device_name() const { return device_name_; }
  bool is_emulated() const { return is_emulated_; }
  LaunchHistory& history() { return history_; }
  /// Whether the address is in memory that the driver allocated or registered. Requires: the context is current.
  bool knows_address(CUdeviceptr) const;

  /// Throws DeviceError unless the call succeeded.
  void expect(CUresult status, const char* call, const Here& where) {
    if (status != CUDA_SUCCESS) [[unlikely]]
      fail(status, call, where);
  }
  /// Throws DeviceError with the call, its code and `details`.
  [[noreturn]] void fail(CUresult, const char* call, const Here& where, const std::string& details = {});
  /// A copy of the text that lives as long as this object.
  const std::string& keep(const std::string& text);

 private:
  const Driver& driver_;
  const CUdevice device_;
  const std::string device_name_;
  const bool is_emulated_;
  CUcontext handle_ = nullptr;
  LaunchHistory history_;
  std::mutex mutex_;
  std::set<std::string> kept_;
  std::string lost_by_;  // empty while the context is usable
};

/// Makes the context current on this thread while this object lives, and then restores the previous one: an application may use other
/// contexts, or the CUDA runtime with another device.
class Current {
 public:
  explicit Current(Context&, const Here& where = Here());
  /// For destructors: does not throw; if it fails, the calls that follow fail too.
  Current(Context&, std::nothrow_t) noexcept;
  ~Current();
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  CUresult enter(const char*& call) noexcept;
  Context& context_;
  bool pushed_ = false;
};

/// Whether the stream is being captured into a graph, or a launch on it would fail because another stream is being captured.
bool is_capturing(const Driver&, CUstream);

/// While this object lives, this thread may make calls that a stream capture in global mode forbids: those for memory and loading, which do
/// not concern the captured streams.
class OutsideCapture {
 public:
  explicit OutsideCapture(const Driver&) noexcept;
  ~OutsideCapture();
  OutsideCapture(const OutsideCapture&) = delete;
  OutsideCapture& operator=(const OutsideCapture&) = delete;

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // the mode before
  bool exchanged_;
};

}  // namespace tilewright::rt::cuda
