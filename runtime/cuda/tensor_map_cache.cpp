// Replaces the oldest map.
#include "runtime/cuda/tensor_map_cache.h"

#include <algorithm>

namespace tilewright::rt::cuda {

bool TensorMapCache::find(std::size_t parameter, const Key& key, CUtensorMap& to) {
  const std::lock_guard lock(mutex_);
  const Set& s = sets_[parameter];
  for (std::size_t i = 0; i < s.count; ++i) {
    if (s.keys[i] != key) continue;
    to = s.maps[i];
    return true;
  }
  return false;
}

void TensorMapCache::keep(std::size_t parameter, const Key& key, const CUtensorMap& map) {
  const std::lock_guard lock(mutex_);
  Set& s = sets_[parameter];
  s.keys[s.next] = key, s.maps[s.next] = map;
  s.next = (s.next + 1) % kWays;
  s.count = std::min(s.count + 1, kWays);
}

}  // namespace tilewright::rt::cuda
