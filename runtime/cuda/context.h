// One CUDA device's primary context: made current for each call and never left so, and what its failures are said to be.
#pragma once
#include <mutex>
#include <new>
#include <set>
#include <string>

#include "runtime/cuda/driver.h"
#include "runtime/cuda/launch_history.h"
#include "tilewright/here.h"

// Calls a function of a context's driver; a failure names it. `where`: the user's line, Here() where it is not known.
#define TW_CUDA_CALL(context, where, function, ...) (context).expect((context).driver().function(__VA_ARGS__), #function, where)

namespace tilewright::rt::cuda {

/// The primary context is the one that the CUDA runtime uses too, so memory, streams and events of both are good for each other. It is
/// retained while this object lives, and never reset or destroyed.
class Context {
 public:
  /// `survives_faults`: a failing kernel spoils nothing (the emulator). Throws DeviceError at `where`.
  Context(const Driver&, CUdevice, std::string device_name, bool survives_faults, const Here& where);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Driver& driver() const { return driver_; }
  CUcontext handle() const { return handle_; }
  CUdevice device() const { return device_; }
  const std::string& device_name() const { return device_name_; }
  LaunchHistory& history() { return history_; }
  /// Whether it is of memory that the driver allocated or registered. The context is current.
  bool knows_address(CUdeviceptr) const;

  /// Throws DeviceError unless the call went well.
  void expect(CUresult status, const char* call, const Here& where) {
    if (status != CUDA_SUCCESS) [[unlikely]]
      fail(status, call, where);
  }
  /// `details` follow the call and its code.
  [[noreturn]] void fail(CUresult, const char* call, const Here& where, const std::string& details = {});
  /// The same text for as long as this object lives.
  const std::string& keep(const std::string& text);

 private:
  const Driver& driver_;
  const CUdevice device_;
  const std::string device_name_;
  const bool survives_faults_;
  CUcontext handle_ = nullptr;
  LaunchHistory history_;
  std::mutex mutex_;
  std::set<std::string> kept_;
  std::string lost_by_;  // empty while the context is usable
};

/// The context is current on this thread while this object lives; then what was current before is so again, since an application may
/// use other contexts, or the CUDA runtime with another device.
class Current {
 public:
  explicit Current(Context&, const Here& where = Here());
  /// Where nothing can be thrown: if it fails, so will the calls that follow.
  Current(Context&, std::nothrow_t) noexcept;
  ~Current();
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  CUresult enter(const char*& call) noexcept;
  Context& context_;
  bool pushed_ = false;
};

/// Whether a graph is being made of what is submitted to the stream, or a launch there would fail since another one captures.
bool is_capturing(const Driver&, CUstream);

/// While this object lives, calls of this thread that a stream capture in global mode forbids are allowed. For calls that have nothing
/// to do with the captured streams: memory, loading.
class OutsideCapture {
 public:
  explicit OutsideCapture(const Driver&) noexcept;
  ~OutsideCapture();
  OutsideCapture(const OutsideCapture&) = delete;
  OutsideCapture& operator=(const OutsideCapture&) = delete;

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // before
  bool exchanged_;
};

}  // namespace tilewright::rt::cuda
