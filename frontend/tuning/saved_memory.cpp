// Copies of memory that launches write.
#include "frontend/tuning/saved_memory.h"

#include <algorithm>

namespace tilewright::tuning {

SavedMemory::SavedMemory(rt::Device& device, std::vector<Range> ranges, rt::Stream& stream) : device_(device), stream_(stream) {
  std::erase_if(ranges, [](const Range& r) { return r.begin >= r.end; });
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::vector<Range> whole;
  for (const Range& r : ranges)
    if (!whole.empty() && r.begin < whole.back().end)
      whole.back().end = std::max(whole.back().end, r.end);
    else
      whole.push_back(r);
  copies_.reserve(whole.size());
  try {
    for (const Range& r : whole) {
      copies_.push_back({r, device_.allocate(r.end - r.begin)});
      device_.copy(copies_.back().address, r.begin, r.end - r.begin, stream_);
    }
  } catch (...) {
    release();
    throw;
  }
}

SavedMemory::~SavedMemory() { release(); }

void SavedMemory::release() noexcept {
  for (const Copy& c : copies_) device_.release(c.address, c.range.end - c.range.begin);
}

void SavedMemory::restore() {
  for (const Copy& c : copies_) device_.copy(c.range.begin, c.address, c.range.end - c.range.begin, stream_);
}

}  // namespace tilewright::tuning
