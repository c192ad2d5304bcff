// Reads the buffers into which kernels on a CUDA device print and report failed assertions.
#include "runtime/cuda/kernel_reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "backend/nvptx_abi.h"
#include "runtime/device_failure.h"
#include "runtime/device_print.h"
#include "runtime/reports.h"

namespace tilewright::rt::cuda {

namespace {

using backend::NvptxReportHeader;

constexpr std::size_t kBytes = 1 << 20;
constexpr auto kWords = static_cast<std::uint32_t>((kBytes - sizeof(NvptxReportHeader)) / 4);
// If there are this many unread buffers, a launch reads them itself.
constexpr std::size_t kMostWritten = 16;

auto is_of(CUstream stream) {
  return [=](const KernelReports::Written& w) { return w.stream == stream && !w.stream_is_gone; };
}

}  // namespace

KernelReports::~KernelReports() {
  const Current current(context_, std::nothrow);
  for (const Written& w : written_) memory_.release(w.buffer);
  while (idle_count_ > 0) memory_.release(idle_[--idle_count_]);
  if (reader_) context_.driver().cuStreamDestroy(reader_);
}

// Requires: the lock is held.
KernelReports::Written KernelReports::open(CUstream stream, const Kernel& kernel, const Here& where) {
  CUdeviceptr buffer = 0;
  if (!reader_) TW_CUDA_CALL(context_, where, cuStreamCreate, &reader_, CU_STREAM_NON_BLOCKING);
  if (idle_count_ == 0) {
    try {
      buffer = at_line(where, [&] { return memory_.allocate(kBytes); });
    } catch (const std::bad_alloc&) {
      throw DeviceError(detail::location_of(where),
                        fmt::format("launch: out of memory: kernel '{}' needs {} bytes on device '{}' for what it prints", kernel.name,
                                    kBytes, context_.device_name()));
    }
  } else {
    buffer = idle_[--idle_count_];
  }
  try {
    // A memset is ordered on the stream before the kernel and, unlike a copy, needs no host memory that stays alive.
    static_assert(offsetof(NvptxReportHeader, capacity_words) == 0);
    TW_CUDA_CALL(context_, where, cuMemsetD32Async, buffer, kWords, 1, stream);
    TW_CUDA_CALL(context_, where, cuMemsetD32Async, buffer + 4, 0, sizeof(NvptxReportHeader) / 4 - 1, stream);
  } catch (...) {
    memory_.release(buffer);
    throw;
  }
  return {stream, false, buffer, &kernel.name, kernel.sites, where};
}

void KernelReports::launch(CUstream stream, const Kernel& kernel, bool check, const Here& where,
                           const std::function<void(CUdeviceptr)>& submit) {
  if (is_capturing(context_.driver(), stream)) return submit(0);
  const OutsideCapture outside(context_.driver());
  const auto wait = [&] { TW_CUDA_CALL(context_, where, cuStreamSynchronize, stream); };
  if (count_.load(std::memory_order_relaxed) >= kMostWritten)
    at_line(where, [&] { deliver_after([&] { TW_CUDA_CALL(context_, where, cuCtxSynchronize); }, take_all()); });
  std::unique_lock lock(mutex_);
  if (!check) {
    const auto last = std::find_if(written_.rbegin(), written_.rend(), is_of(stream));
    const bool shares = last != written_.rend() && last->sites == kernel.sites;
    if (!shares) {
      written_.push_back(open(stream, kernel, where));
      count_.store(written_.size(), std::memory_order_relaxed);
    }
    return submit(shares ? last->buffer : written_.back().buffer);
  }
  const Written mine = open(stream, kernel, where);
  lock.unlock();
  std::exception_ptr reported, failed;
  const auto attempt = [&](auto&& f) {
    try {
      at_line(where, f);
    } catch (const DeviceError&) {
      if (!failed) failed = std::current_exception();
    } catch (...) {
      if (!reported) reported = std::current_exception();
    }
  };
  attempt([&] { submit(mine.buffer); });
  attempt([&] { deliver_after(wait, take(stream)); });  // earlier prints come first
  attempt([&] { deliver_after(wait, {mine}); });
  // A failed assertion is thrown first, since it is often the reason why the kernel failed.
  if (reported) std::rethrow_exception(reported);
  if (failed) std::rethrow_exception(failed);
}

std::vector<KernelReports::Written> KernelReports::take(CUstream stream) {
  std::vector<Written> taken;
  if (count_.load(std::memory_order_relaxed) == 0) return taken;
  std::lock_guard lock(mutex_);
  std::copy_if(written_.begin(), written_.end(), std::back_inserter(taken), is_of(stream));
  std::erase_if(written_, is_of(stream));
  count_.store(written_.size(), std::memory_order_relaxed);
  return taken;
}

std::vector<KernelReports::Written> KernelReports::take_all() {
  if (count_.load(std::memory_order_relaxed) == 0) return {};
  std::lock_guard lock(mutex_);
  count_.store(0, std::memory_order_relaxed);
  return std::exchange(written_, {});
}

void KernelReports::forget(CUstream stream) noexcept {
  if (!stream) return;  // the default stream is never destroyed
  std::lock_guard lock(mutex_);
  for (Written& w : written_) w.stream_is_gone |= w.stream == stream;
}

void KernelReports::deliver(const std::vector<Written>& written) {
  std::exception_ptr first;
  for (const Written& w : written) {
    try {
      read(w);
    } catch (...) {
      if (!first) first = std::current_exception();
    }
    give_back(w.buffer);
  }
  if (first) std::rethrow_exception(first);
}

void KernelReports::read(const Written& w) {
  const OutsideCapture outside(context_.driver());
  const auto copy = [&](void* to, CUdeviceptr from, std::size_t bytes) {
    TW_CUDA_CALL(context_, Here(), cuMemcpyDtoHAsync, to, from, bytes, reader_);
    TW_CUDA_CALL(context_, Here(), cuStreamSynchronize, reader_);
  };
  NvptxReportHeader header{};
  copy(&header, w.buffer, sizeof header);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(std::min<std::uint64_t>(header.used_words, kWords)));
  if (!words.empty()) copy(words.data(), w.buffer + sizeof header, 4 * words.size());
  Reports reports(*w.sites);
  backend::read_reports(header, words, *w.sites, &Reports::report, &reports);
  if (header.lost > 0)
    print_line(fmt::format("kernel '{}': {} more reports did not fit into {} bytes; wait for its stream more often, or print less",
                           *w.kernel, header.lost, kBytes));
  reports.finish(w.where);
  const bool asserts = std::any_of(w.sites->begin(), w.sites->end(), [](const backend::ReportSite& s) { return !s.is_print; });
  if (header.lost > 0 && asserts)
    throw DeviceError(
        detail::location_of(w.where),
        fmt::format(
            "launch: {} reports of kernel '{}' were lost on device '{}', assertions that do not hold perhaps among them: print less",
            header.lost, *w.kernel, context_.device_name()));
}

void KernelReports::give_back(CUdeviceptr buffer) noexcept {
  std::lock_guard lock(mutex_);
  if (idle_count_ < idle_.size())
    idle_[idle_count_++] = buffer;
  else
    memory_.release(buffer);
}

}  // namespace tilewright::rt::cuda
