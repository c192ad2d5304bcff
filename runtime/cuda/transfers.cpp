// Copies between host memory and a CUDA device, and fills.
#include "runtime/cuda/transfers.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tileir/diagnostics.h"

namespace tilewright::rt::cuda {

namespace {

// Smaller copies are direct: the driver immediately copies them to a buffer of its own, which is as fast.
constexpr std::size_t kSmall = 64 << 10;

template <class T>
T value_of(const void* pattern) {
  T value;
  std::memcpy(&value, pattern, sizeof value);
  return value;
}

}  // namespace

Transfers::~Transfers() {
  const Current current(context_, std::nothrow);
  close_blocks();
}

void Transfers::close_blocks() noexcept {
  for (CUevent& e : done_) {
    if (e) context_.driver().cuEventDestroy(e);
    e = nullptr;
  }
  if (blocks_) context_.driver().cuMemFreeHost(blocks_);
  blocks_ = nullptr;
}

// Returns false if no memory can be pinned; then the copy is direct and only slower. Requires: the lock is held.
bool Transfers::open_blocks() {
  if (blocks_) return true;
  const OutsideCapture outside(context_.driver());
  void* memory = nullptr;
  if (context_.driver().cuMemHostAlloc(&memory, 2 * kBlock, 0) != CUDA_SUCCESS) return false;
  blocks_ = static_cast<std::byte*>(memory);
  for (CUevent& e : done_)
    if (context_.driver().cuEventCreate(&e, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
      e = nullptr;
      close_blocks();
      return false;
    }
  return true;
}

bool Transfers::goes_directly(const void* host, std::size_t bytes) {
  if (bytes <= kSmall) return true;
  return context_.knows_address(static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(host)));
}

void Transfers::copy_in(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  const Current current(context_);
  std::unique_lock lock(mutex_, std::defer_lock);
  bool direct = goes_directly(from, bytes);
  if (!direct) {
    lock.lock();
    direct = !open_blocks();
  }
  if (direct) {
    TW_CUDA_CALL(context_, Here(), cuMemcpyHtoDAsync, to, from, bytes, stream);
    TW_CUDA_CALL(context_, Here(), cuStreamSynchronize, stream);
    return;
  }
  for (std::size_t at = 0, i = 0; at < bytes; at += kBlock, ++i) {
    const std::size_t part = std::min(kBlock, bytes - at);
    std::byte* block = blocks_ + i % 2 * kBlock;
    if (i >= 2) TW_CUDA_CALL(context_, Here(), cuEventSynchronize, done_[i % 2]);
    std::memcpy(block, static_cast<const std::byte*>(from) + at, part);
    TW_CUDA_CALL(context_, Here(), cuMemcpyHtoDAsync, to + at, block, part, stream);
    TW_CUDA_CALL(context_, Here(), cuEventRecord, done_[i % 2], stream);
  }
  TW_CUDA_CALL(context_, Here(), cuStreamSynchronize, stream);
}

void Transfers::copy_out(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  const Current current(context_);
  std::unique_lock lock(mutex_, std::defer_lock);
  bool direct = goes_directly(to, bytes);
  if (!direct) {
    lock.lock();
    direct = !open_blocks();
  }
  if (direct) {
    TW_CUDA_CALL(context_, Here(), cuMemcpyDtoHAsync, to, from, bytes, stream);
    TW_CUDA_CALL(context_, Here(), cuStreamSynchronize, stream);
    return;
  }
  const auto submit = [&](std::size_t at, std::size_t i) {
    TW_CUDA_CALL(context_, Here(), cuMemcpyDtoHAsync, blocks_ + i % 2 * kBlock, from + at, std::min(kBlock, bytes - at), stream);
    TW_CUDA_CALL(context_, Here(), cuEventRecord, done_[i % 2], stream);
  };
  submit(0, 0);
  for (std::size_t at = 0, i = 0; at < bytes; at += kBlock, ++i) {
    if (at + kBlock < bytes) submit(at + kBlock, i + 1);
    TW_CUDA_CALL(context_, Here(), cuEventSynchronize, done_[i % 2]);
    std::memcpy(static_cast<std::byte*>(to) + at, blocks_ + i % 2 * kBlock, std::min(kBlock, bytes - at));
  }
}

void Transfers::fill(CUdeviceptr to, const void* pattern, std::size_t pattern_bytes, std::size_t count, CUstream stream) {
  if (count == 0) return;
  const Current current(context_);
  switch (pattern_bytes) {
    case 1: TW_CUDA_CALL(context_, Here(), cuMemsetD8Async, to, value_of<std::uint8_t>(pattern), count, stream); return;
    case 2: TW_CUDA_CALL(context_, Here(), cuMemsetD16Async, to, value_of<std::uint16_t>(pattern), count, stream); return;
    case 4: TW_CUDA_CALL(context_, Here(), cuMemsetD32Async, to, value_of<std::uint32_t>(pattern), count, stream); return;
    case 8: break;
    default: TW_UNREACHABLE("a pattern has 1, 2, 4 or 8 bytes");
  }
  const auto bits = value_of<std::uint64_t>(pattern);
  const auto low = static_cast<std::uint32_t>(bits), high = static_cast<std::uint32_t>(bits >> 32);
  if (low == high) {
    TW_CUDA_CALL(context_, Here(), cuMemsetD32Async, to, low, 2 * count, stream);
    return;
  }
  // The driver has no fill with 8 bytes: fill one element, then double the filled part.
  TW_CUDA_CALL(context_, Here(), cuMemsetD32Async, to, low, 1, stream);
  TW_CUDA_CALL(context_, Here(), cuMemsetD32Async, to + 4, high, 1, stream);
  const std::size_t bytes = 8 * count;
  for (std::size_t done = 8; done < bytes; done *= 2)
    TW_CUDA_CALL(context_, Here(), cuMemcpyDtoDAsync, to + done, to, std::min(done, bytes - done), stream);
}

}  // namespace tilewright::rt::cuda
