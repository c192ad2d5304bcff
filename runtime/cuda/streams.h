// CUDA streams and events as rt::Stream and rt::Event.
#pragma once
#include <memory>

#include "runtime/cuda/context.h"
#include "runtime/cuda/device_memory.h"
#include "runtime/cuda/kernel_reports.h"
#include "runtime/device.h"

namespace tilewright::rt::cuda {

class CudaEvent : public Event {
 public:
  /// Records the event. Requires: the context is current.
  CudaEvent(std::shared_ptr<Device>, Context&, CUstream);
  ~CudaEvent() override;
  double elapsed_ms(const Event& later) const override;
  CUevent handle() const { return handle_; }

 private:
  Context& context_;
  CUevent handle_ = nullptr;
};

/// The members of a device that its streams use.
struct StreamHome {
  Device& device;
  Context& context;
  DeviceMemory& memory;
  KernelReports& reports;
};

class CudaStream : public Stream {
 public:
  enum class Owner { user, library };
  /// Wraps an existing stream; a stream of the library is destroyed together with this object. `keep`: the device, or null if the device
  /// owns this object.
  CudaStream(const StreamHome&, std::shared_ptr<Device> keep, CUstream, Owner);
  ~CudaStream() override;
  void synchronize() override;
  std::shared_ptr<Event> record() override;
  void wait(const Event&) override;
  void* native() const override { return handle_; }
  bool is_capturing() const override;
  CUstream handle() const { return handle_; }

 private:
  const StreamHome home_;
  const std::shared_ptr<Device> keep_;
  const CUstream handle_;
  const Owner owner_;
};

}  // namespace tilewright::rt::cuda
