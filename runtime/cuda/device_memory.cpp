// Allocates memory of a CUDA device from a memory pool if the driver has one, else by cuMemAlloc.
#include "runtime/cuda/device_memory.h"

#include <algorithm>
#include <cstdint>

namespace tilewright::rt::cuda {

namespace {

/// Unused bytes after each allocation. The driver packs allocations without gaps; without this guard, checked mode would take the first
/// elements after a buffer for elements of the next one. The emulator itself finds every access outside of an allocation.
constexpr std::size_t kGuardBytes = 256;

}  // namespace

DeviceMemory::DeviceMemory(Context& context, const Here& where) : context_(context) {
  const Driver& driver = context_.driver();
  int has_pools = 0;
  TW_CUDA_CALL(context_, where, cuDeviceGetAttribute, &has_pools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, context_.device());
  if (!has_pools) return;
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, context_.device()};
  // Some virtual GPUs have the attribute but cannot create a pool.
  if (driver.cuMemPoolCreate(&pool_, &properties) != CUDA_SUCCESS) {
    pool_ = nullptr;
    return;
  }
  try {
    std::uint64_t keep_all = UINT64_MAX;  // a number of bytes: the pool never returns memory to the driver
    TW_CUDA_CALL(context_, where, cuMemPoolSetAttribute, pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep_all);
    TW_CUDA_CALL(context_, where, cuStreamCreate, &allocations_, CU_STREAM_NON_BLOCKING);
    TW_CUDA_CALL(context_, where, cuStreamCreate, &frees_, CU_STREAM_NON_BLOCKING);
    TW_CUDA_CALL(context_, where, cuEventCreate, &reached_, CU_EVENT_DISABLE_TIMING);
  } catch (...) {
    close();
    throw;
  }
}

DeviceMemory::~DeviceMemory() {
  const Current current(context_, std::nothrow);
  close();
}

void DeviceMemory::close() noexcept {
  const Driver& driver = context_.driver();
  if (reached_) driver.cuEventDestroy(reached_);
  if (frees_) driver.cuStreamDestroy(frees_);
  if (allocations_) driver.cuStreamDestroy(allocations_);
  if (pool_) driver.cuMemPoolDestroy(pool_);
}

CUresult DeviceMemory::allocate_from_pool(CUdeviceptr* address, std::size_t bytes) {
  const Driver& driver = context_.driver();
  if (const CUresult status = driver.cuMemAllocFromPoolAsync(address, bytes, pool_, allocations_); status != CUDA_ERROR_OUT_OF_MEMORY)
    return status;
  // Freed memory may still wait for kernels, and memory that the pool keeps may be too fragmented.
  TW_CUDA_CALL(context_, Here(), cuStreamSynchronize, frees_);
  TW_CUDA_CALL(context_, Here(), cuMemPoolTrimTo, pool_, 0);
  return driver.cuMemAllocFromPoolAsync(address, bytes, pool_, allocations_);
}

CUdeviceptr DeviceMemory::allocate(std::size_t bytes) {
  const Current current(context_);
  const OutsideCapture outside(context_.driver());
  CUdeviceptr address = 0;
  // The driver refuses allocations of 0 bytes.
  const std::size_t size = context_.is_emulated() ? std::max<std::size_t>(bytes, 1) : bytes + kGuardBytes;
  const CUresult status = pool_ ? allocate_from_pool(&address, size) : context_.driver().cuMemAlloc(&address, size);
  if (status == CUDA_ERROR_OUT_OF_MEMORY) throw std::bad_alloc();
  context_.expect(status, pool_ ? "cuMemAllocFromPoolAsync" : "cuMemAlloc", Here());
  if (!pool_) return address;
  // After this stream has finished, every stream may use the memory.
  if (const CUresult reached = context_.driver().cuStreamSynchronize(allocations_); reached != CUDA_SUCCESS) {
    context_.driver().cuMemFreeAsync(address, allocations_);
    context_.fail(reached, "cuStreamSynchronize", Here());
  }
  return address;
}

void DeviceMemory::release(CUdeviceptr address) noexcept {
  const Current current(context_, std::nothrow);
  const OutsideCapture outside(context_.driver());
  if (!pool_) {
    // cuMemFree waits for all work of the device, so no kernel still uses the memory.
    context_.driver().cuMemFree(address);
    return;
  }
  const std::lock_guard lock(mutex_);
  for (CUstream stream : users_) free_behind(stream);
  context_.driver().cuMemFreeAsync(address, frees_);
}

// Makes later frees wait for the work that is now in the stream. Requires: mutex_ is held.
void DeviceMemory::free_behind(CUstream stream) noexcept {
  const Driver& driver = context_.driver();
  CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
  // An event in a captured stream would become part of the graph, and recording an event on the default stream may break the capture of
  // another stream.
  if (driver.cuStreamIsCapturing(stream, &capturing) != CUDA_SUCCESS || capturing != CU_STREAM_CAPTURE_STATUS_NONE) return;
  // A wait uses the state of the event at the time of the call, so one event serves all streams.
  if (driver.cuEventRecord(reached_, stream) == CUDA_SUCCESS) driver.cuStreamWaitEvent(frees_, reached_, 0);
}

std::size_t DeviceMemory::free_bytes() {
  const Current current(context_);
  std::size_t free = 0, total = 0;
  TW_CUDA_CALL(context_, Here(), cuMemGetInfo, &free, &total);
  if (!pool_) return free;
  std::uint64_t reserved = 0, used = 0;
  TW_CUDA_CALL(context_, Here(), cuMemPoolGetAttribute, pool_, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved);
  TW_CUDA_CALL(context_, Here(), cuMemPoolGetAttribute, pool_, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used);
  return free + (reserved > used ? reserved - used : 0);
}

void DeviceMemory::add_user(CUstream stream) {
  const std::lock_guard lock(mutex_);
  users_.push_back(stream);
}

void DeviceMemory::remove_user(CUstream stream) noexcept {
  const std::lock_guard lock(mutex_);
  // The stream's last kernels may use memory that is released after the stream is destroyed.
  if (pool_) free_behind(stream);
  if (const auto it = std::find(users_.begin(), users_.end(), stream); it != users_.end()) users_.erase(it);
}

}  // namespace tilewright::rt::cuda
