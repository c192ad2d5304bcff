// The primary context of a CUDA device.
#include "runtime/cuda/context.h"

#include <fmt/format.h>

#include "runtime/cuda/driver_failure.h"
#include "runtime/device_failure.h"

namespace tilewright::rt::cuda {

Context::Context(const Driver& driver, CUdevice device, std::string device_name, bool is_emulated, const Here& where)
    : driver_(driver), device_(device), device_name_(std::move(device_name)), is_emulated_(is_emulated) {
  TW_CUDA_CALL(*this, where, cuDevicePrimaryCtxRetain, &handle_, device_);
}

Context::~Context() { driver_.cuDevicePrimaryCtxRelease(device_); }

void Context::fail(CUresult status, const char* call, const Here& where, const std::string& details) {
  std::string text = failure_text(driver_, call, status, fmt::format(" on device '{}'{}", device_name_, details));
  if (loses_context(status) && !is_emulated_) {
    std::lock_guard lock(mutex_);
    if (lost_by_.empty()) {
      lost_by_ = history_.suspects();
      text += fmt::format(": {} failed, and this process cannot use the device any more", lost_by_);
    } else {
      text += fmt::format(", which was lost when {} failed", lost_by_);
    }
  }
  if (status == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES && where.line() != 0) throw_lack_of_resources(where, text);
  throw_device_error(where, text);
}

const std::string& Context::keep(const std::string& text) {
  std::lock_guard lock(mutex_);
  return *kept_.insert(text).first;
}

CUresult Current::enter(const char*& call) noexcept {
  CUcontext current = nullptr;
  call = "cuCtxGetCurrent";
  CUresult status = context_.driver().cuCtxGetCurrent(&current);
  if (status != CUDA_SUCCESS || current == context_.handle()) return status;
  call = "cuCtxPushCurrent";
  status = context_.driver().cuCtxPushCurrent(context_.handle());
  pushed_ = status == CUDA_SUCCESS;
  return status;
}

Current::Current(Context& context, const Here& where) : context_(context) {
  const char* call;
  const CUresult status = enter(call);
  context_.expect(status, call, where);
}

Current::Current(Context& context, std::nothrow_t) noexcept : context_(context) {
  const char* call;
  enter(call);
}

Current::~Current() {
  CUcontext popped;
  if (pushed_) context_.driver().cuCtxPopCurrent(&popped);
}

bool Context::knows_address(CUdeviceptr address) const {
  // For unknown memory, cuPointerGetAttributes returns 0 where cuPointerGetAttribute fails, which tools that watch an application would
  // report.
  unsigned type = 0;
  CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
  void* value = &type;
  return driver().cuPointerGetAttributes(1, &attribute, &value, address) == CUDA_SUCCESS && type != 0;
}

bool is_capturing(const Driver& driver, CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  // This fails for the default stream while another stream is being captured; a launch on it would fail too, with its own message.
  return driver.cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

OutsideCapture::OutsideCapture(const Driver& driver) noexcept : driver_(driver) {
  exchanged_ = driver_.cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS;
}
OutsideCapture::~OutsideCapture() {
  if (exchanged_) driver_.cuThreadExchangeStreamCaptureMode(&mode_);
}

}  // namespace tilewright::rt::cuda
