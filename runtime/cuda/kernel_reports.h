// Prints and assertions of kernels on a CUDA device: launches write them to buffers, which are read at the next wait for the stream.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/compiled_kernel.h"
#include "runtime/cuda/device_memory.h"

namespace tilewright::rt::cuda {

/// The report sites of one kernel. Null or empty: the kernel has no reports.
using ReportSites = std::shared_ptr<const std::vector<backend::ReportSite>>;

/// Prints are read at the next wait for their stream, so launches stay asynchronous. Consecutive launches of one kernel share a buffer;
/// other launches get another one. Lines are printed in the order of the launches; if a buffer is full, a line says how many reports are
/// missing. A launch in checked mode waits for the kernel, since it throws the failed assertion. Captured launches report nothing, because
/// a graph may be launched at any later time.
///
/// If a device's kernels have no reports, this class allocates nothing and takes no lock.
class KernelReports {
 public:
  KernelReports(Context& context, DeviceMemory& memory) : context_(context), memory_(memory) {}
  ~KernelReports();
  KernelReports(const KernelReports&) = delete;
  KernelReports& operator=(const KernelReports&) = delete;

  struct Kernel {
    const std::string& name;  // kept by the context
    const ReportSites& sites;
  };
  /// Calls `submit` with the address of the kernel's buffer. Throws Error for a violation in checked mode. Requires: the context is
  /// current.
  void launch(CUstream, const Kernel&, bool check, const Here& where, const std::function<void(CUdeviceptr)>& submit);

  /// A buffer that launches of one stream have written or will write.
  struct Written {
    CUstream stream;
    bool stream_is_gone;
    CUdeviceptr buffer;
    const std::string* kernel;
    ReportSites sites;
    Here where;
  };
  /// Removes and returns the buffers of earlier launches, of one stream or of all.
  std::vector<Written> take(CUstream);
  std::vector<Written> take_all();
  /// Called before a stream is destroyed. The driver may reuse its handle, so from now on only take_all() returns its buffers.
  void forget(CUstream) noexcept;
  /// Calls `wait` for the work that writes the buffers, then prints the lines. Throws the exception of `wait`; else the first exception of
  /// a print handler or of reading the buffers. Requires: the context is current.
  template <class Wait>
  void deliver_after(Wait&& wait, std::vector<Written> written) {
    try {
      wait();
    } catch (...) {
      for (const Written& w : written) give_back(w.buffer);
      throw;
    }
    if (!written.empty()) deliver(written);
  }

 private:
  Written open(CUstream, const Kernel&, const Here& where);
  void deliver(const std::vector<Written>&);
  void read(const Written&);
  void give_back(CUdeviceptr) noexcept;

  Context& context_;
  DeviceMemory& memory_;
  std::mutex mutex_;              // guards the members below; held during submission, so that take() sees only submitted launches
  std::vector<Written> written_;  // in the order of the launches
  std::array<CUdeviceptr, 4> idle_{};
  std::size_t idle_count_ = 0;
  CUstream reader_ = nullptr;          // a separate stream: the user's may be destroyed already, and the default stream waits for others
  std::atomic<std::size_t> count_{0};  // the size of written_, which can be read without the lock
};

}  // namespace tilewright::rt::cuda
