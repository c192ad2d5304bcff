// Implements rt::Stream and rt::Event by CUDA streams and events.
#include "runtime/cuda/streams.h"

namespace tilewright::rt::cuda {

CudaEvent::CudaEvent(std::shared_ptr<Device> device, Context& context, CUstream stream) : Event(std::move(device)), context_(context) {
  TW_CUDA_CALL(context_, Here(), cuEventCreate, &handle_, CU_EVENT_DEFAULT);
  if (const CUresult status = context_.driver().cuEventRecord(handle_, stream); status != CUDA_SUCCESS) {
    context_.driver().cuEventDestroy(handle_);
    context_.fail(status, "cuEventRecord", Here());
  }
}

CudaEvent::~CudaEvent() {
  const Current current(context_, std::nothrow);
  context_.driver().cuEventDestroy(handle_);
}

double CudaEvent::elapsed_ms(const Event& later) const {
  const CUevent end = static_cast<const CudaEvent&>(later).handle_;
  const Current current(context_);
  TW_CUDA_CALL(context_, Here(), cuEventSynchronize, handle_);
  TW_CUDA_CALL(context_, Here(), cuEventSynchronize, end);
  float ms = 0;
  TW_CUDA_CALL(context_, Here(), cuEventElapsedTime, &ms, handle_, end);
  return ms;
}

CudaStream::CudaStream(const StreamHome& home, std::shared_ptr<Device> keep, CUstream handle, Owner owner)
    : home_(home), keep_(std::move(keep)), handle_(handle), owner_(owner) {
  home_.memory.add_user(handle_);
}

CudaStream::~CudaStream() {
  const Current current(home_.context, std::nothrow);
  home_.memory.remove_user(handle_);
  home_.reports.forget(handle_);
  // This returns at once; the driver finishes the stream's work.
  if (owner_ == Owner::library) home_.context.driver().cuStreamDestroy(handle_);
}

void CudaStream::synchronize() {
  const Current current(home_.context);
  home_.reports.deliver_after([&] { TW_CUDA_CALL(home_.context, Here(), cuStreamSynchronize, handle_); }, home_.reports.take(handle_));
}

std::shared_ptr<Event> CudaStream::record() {
  const Current current(home_.context);
  return std::make_shared<CudaEvent>(home_.device.shared_from_this(), home_.context, handle_);
}

bool CudaStream::is_capturing() const {
  const Current current(home_.context);
  return cuda::is_capturing(home_.context.driver(), handle_);
}

void CudaStream::wait(const Event& event) {
  const Current current(home_.context);
  TW_CUDA_CALL(home_.context, Here(), cuStreamWaitEvent, handle_, static_cast<const CudaEvent&>(event).handle(), 0);
}

}  // namespace tilewright::rt::cuda
