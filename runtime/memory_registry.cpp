// Records the live buffers of a device by address.
#include "runtime/memory_registry.h"

#include <algorithm>

namespace tilewright::rt {

std::uint64_t MemoryRegistry::add(const Region& region) {
  std::lock_guard lock(mutex_);
  regions_.emplace(next_, region);
  return next_++;
}

void MemoryRegistry::remove(std::uint64_t id) {
  std::lock_guard lock(mutex_);
  regions_.erase(id);
}

std::vector<Region> MemoryRegistry::snapshot() const {
  std::vector<Region> all;
  {
    std::lock_guard lock(mutex_);
    all.reserve(regions_.size());
    for (const auto& [id, region] : regions_) {
      all.push_back(region);
      all.back().id = id;
    }
  }
  std::sort(all.begin(), all.end(), [](const Region& a, const Region& b) { return a.begin < b.begin; });
  return all;
}

std::uint64_t MemoryRegistry::next_id() const {
  std::lock_guard lock(mutex_);
  return next_;
}

}  // namespace tilewright::rt
