// Tensor maps of the last launches of a kernel.
#pragma once
#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime/cuda/driver_types.h"

namespace tilewright::rt::cuda {

/// Keeps the last maps of each tensor map parameter, since the driver takes longer to encode one than a launch may be longer by. Threads may
/// launch a kernel at the same time. Allocates nothing after its construction.
class TensorMapCache {
 public:
  /// The numbers from which a map is encoded: the address, then extents, then strides.
  using Key = std::array<std::int64_t, 10>;

  explicit TensorMapCache(std::size_t maps) : sets_(maps) {}

  /// Copies the map of a parameter, if it is known.
  bool find(std::size_t parameter, const Key&, CUtensorMap& to);
  void keep(std::size_t parameter, const Key&, const CUtensorMap&);

 private:
  static constexpr std::size_t kWays = 4;
  struct Set {
    std::array<Key, kWays> keys;
    std::array<CUtensorMap, kWays> maps;
    std::size_t count = 0, next = 0;
  };

  std::mutex mutex_;
  std::vector<Set> sets_;
};

}  // namespace tilewright::rt::cuda
