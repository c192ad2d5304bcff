// The memory of a kernel's last cluster, for its next launch.
#pragma once
#include <memory>
#include <mutex>

namespace tilewright::rt::emulator {

struct Cluster;

/// Keeps at most one, since it is large. Thread-safe.
class SpareCluster {
 public:
  /// Null if there is none.
  std::shared_ptr<Cluster> take();
  void give(std::shared_ptr<Cluster>);

 private:
  std::mutex mutex_;
  std::shared_ptr<Cluster> spare_;
};

}  // namespace tilewright::rt::emulator
