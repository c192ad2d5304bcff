// Copies between host memory and a CUDA device, which are complete when they return, and fills.
#pragma once
#include <cstddef>
#include <mutex>

#include "runtime/cuda/context.h"

namespace tilewright::rt::cuda {

/// Large copies of pageable memory alternate between two pinned blocks: the CPU copies one block while the other one is transferred. Small
/// copies, and copies of pinned memory, are direct.
class Transfers {
 public:
  static constexpr std::size_t kBlock = std::size_t{2} << 20;

  explicit Transfers(Context& context) : context_(context) {}
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  void copy_in(CUdeviceptr to, const void* from, std::size_t bytes, CUstream);
  void copy_out(void* to, CUdeviceptr from, std::size_t bytes, CUstream);
  /// Submits a fill with `count` copies of a pattern of 1, 2, 4 or 8 bytes, without waiting for it.
  void fill(CUdeviceptr to, const void* pattern, std::size_t pattern_bytes, std::size_t count, CUstream);

 private:
  bool goes_directly(const void* host, std::size_t bytes);
  bool open_blocks();
  void close_blocks() noexcept;

  Context& context_;
  std::mutex mutex_;             // guards the blocks
  std::byte* blocks_ = nullptr;  // two blocks of kBlock bytes; allocated at the first large copy
  CUevent done_[2] = {};         // of the transfer to or from each block
};

}  // namespace tilewright::rt::cuda
