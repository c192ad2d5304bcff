// Places buffers first-fit in the gaps between live buffers.
#include "backend/host/scratch.h"

#include <algorithm>

namespace tilewright::backend::host {

std::int64_t Scratch::allocate(std::int64_t bytes) {
  constexpr std::int64_t kAlign = 64;  // a cache line, and the widest vector
  bytes = (std::max<std::int64_t>(bytes, 1) + kAlign - 1) / kAlign * kAlign;
  std::int64_t at = 0;
  for (const auto& [offset, size] : live_) {
    if (offset - at >= bytes) break;
    at = offset + size;
  }
  live_.emplace(at, bytes);
  high_water_ = std::max(high_water_, at + bytes);
  return at;
}

void Scratch::free(std::int64_t offset) { live_.erase(offset); }

}  // namespace tilewright::backend::host
