// What kernels on one CUDA device print and assert: buffers that launches write, read back when somebody waits for them.
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

/// What reports of one kernel mean. Null or without sites: it makes none.
using ReportSites = std::shared_ptr<const std::vector<backend::ReportSite>>;

/// Prints are read at the next wait for their stream, so such launches stay asynchronous: those of one kernel that follow each other share
/// a buffer, others get the next one. Lines come in the order of the launches; of what no longer fits it is said how much it was. A launch
/// in checked mode waits, since what its assertions found has to come out of it. What a stream captures reports nothing: a graph may be
/// launched long after anybody looks.
///
/// A device whose kernels have no reports allocates nothing here, and takes no lock.
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
  /// Calls submit with the address that the kernel gets. The context is current. Throws Error for what checked mode found.
  void launch(CUstream, const Kernel&, bool check, const Here& where, const std::function<void(CUdeviceptr)>& submit);

  /// A buffer that launches of one stream have written or are to write.
  struct Written {
    CUstream stream;
    bool stream_is_gone;
    CUdeviceptr buffer;
    const std::string* kernel;
    ReportSites sites;
    Here where;
  };
  /// What launches up to now write.
  std::vector<Written> take(CUstream);
  std::vector<Written> take_all();
  /// The handle is about to go, and may come back as another stream's: from now on only take_all() takes what was launched there.
  void forget(CUstream) noexcept;
  /// Waits for the work that writes them, then prints the lines. Throws what the wait threw, else the first thing that a print handler
  /// threw or that went wrong. The context is current.
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
  std::mutex mutex_;  // of what follows; held while a launch is submitted, so that take() gets what was launched and nothing else
  std::vector<Written> written_;  // in the order of the launches
  std::array<CUdeviceptr, 4> idle_{};
  std::size_t idle_count_ = 0;
  CUstream reader_ = nullptr;          // our own: the user's may be gone when their work is done, and the default one waits for others
  std::atomic<std::size_t> count_{0};  // of written_
};

}  // namespace tilewright::rt::cuda
