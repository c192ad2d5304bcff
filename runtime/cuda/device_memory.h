// Allocates memory of a CUDA device, and frees it in stream order after the work that uses it.
#pragma once
#include <cstddef>
#include <mutex>
#include <vector>

#include "runtime/cuda/context.h"

namespace tilewright::rt::cuda {

/// Memory from allocate() can be used on every stream at once. Memory passed to release() may still be in use by work submitted before: it
/// is freed after the work of all known streams, so a buffer may be destroyed as soon as its last kernel is launched. Captured work does
/// not count: memory that a graph uses must outlive the graph.
///
/// If the device has memory pools, memory comes from a pool of this object: freed memory stays in it, so that allocating again takes
/// microseconds, and the settings of the default pool stay as they are.
class DeviceMemory {
 public:
  /// Requires: the context is current.
  DeviceMemory(Context&, const Here&);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// Throws std::bad_alloc if there is too little memory, DeviceError if the device failed.
  CUdeviceptr allocate(std::size_t bytes);
  void release(CUdeviceptr) noexcept;
  /// The bytes that allocate() could return, possibly only in several allocations.
  std::size_t free_bytes();

  /// Declares that work of this stream may use this memory.
  void add_user(CUstream);
  /// Called before a stream is destroyed; its work may still be running. Requires: the context is current.
  void remove_user(CUstream) noexcept;

 private:
  void close() noexcept;
  CUresult allocate_from_pool(CUdeviceptr*, std::size_t bytes);
  void free_behind(CUstream) noexcept;

  Context& context_;
  CUmemoryPool pool_ = nullptr;     // null if the device has no pools
  CUstream allocations_ = nullptr;  // never waits for work, so an allocation does not wait either
  CUstream frees_ = nullptr;
  CUevent reached_ = nullptr;
  std::mutex mutex_;  // guards reached_ and users_
  std::vector<CUstream> users_;
};

}  // namespace tilewright::rt::cuda
