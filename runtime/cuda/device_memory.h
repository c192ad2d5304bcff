// Memory of one CUDA device: allocation, and giving back behind the work that uses it.
#pragma once
#include <cstddef>
#include <mutex>
#include <vector>

#include "runtime/cuda/context.h"

namespace tilewright::rt::cuda {

/// What allocate() returns is good on every stream at once. What release() is given back may still be in use by work submitted before:
/// it is freed behind the work of all known streams, so a buffer may die as soon as its last kernel is launched. Only work that a stream
/// captures does not count; what a graph uses must outlive the graph.
///
/// Memory comes from a pool of our own where the device has pools: freed memory stays in it, so that allocating again costs
/// microseconds, and the default pool is left as the rest of the process wants it.
class DeviceMemory {
 public:
  /// The context is current.
  DeviceMemory(Context&, const Here&);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// Throws std::bad_alloc if there is too little, DeviceError if the device failed.
  CUdeviceptr allocate(std::size_t bytes);
  void release(CUdeviceptr) noexcept;
  /// What allocate() could give, in several pieces perhaps.
  std::size_t free_bytes();

  /// Work of this stream may use memory from here.
  void add_user(CUstream);
  /// The stream is about to go; its work may still run. The context is current.
  void remove_user(CUstream) noexcept;

 private:
  void close() noexcept;
  CUresult allocate_from_pool(CUdeviceptr*, std::size_t bytes);
  void free_behind(CUstream) noexcept;

  Context& context_;
  CUmemoryPool pool_ = nullptr;     // null if the device has none
  CUstream allocations_ = nullptr;  // never waits for work, so neither does an allocation
  CUstream frees_ = nullptr;
  CUevent reached_ = nullptr;
  std::mutex mutex_;  // of reached_ and users_
  std::vector<CUstream> users_;
};

}  // namespace tilewright::rt::cuda
