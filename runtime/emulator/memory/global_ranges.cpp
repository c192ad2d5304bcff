// Finds allocations by address; a worker remembers the last one that it found.
#include "runtime/emulator/memory/global_ranges.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::rt::emulator {

const Range* global_range(Worker& worker, u64 address) {
  const auto& ranges = worker.launch->ranges;
  if (ranges.empty()) return nullptr;
  const Range& last = ranges[worker.last_range];
  if (address >= last.begin && address < last.end()) return &last;
  auto after = std::upper_bound(ranges.begin(), ranges.end(), address, [](u64 a, const Range& range) { return a < range.begin; });
  if (after == ranges.begin()) return nullptr;
  --after;
  if (address >= after->end()) return nullptr;
  worker.last_range = static_cast<std::size_t>(after - ranges.begin());
  return &*after;
}

std::string describe_global(Worker& worker, u64 address, u64 bytes) {
  const auto& ranges = worker.launch->ranges;
  std::string text = fmt::format("{} bytes of global memory at address 0x{:x}", bytes, address);
  if (address >= kSharedWindow) return text + ", which is an address of another space";
  if (address < 65536) return text + ", in no allocation: the pointer is null or a small integer";
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), address, [](u64 a, const Range& range) { return a < range.begin; });
  const bool has_before = after != ranges.begin(), has_after = after != ranges.end();
  const u64 past = has_before ? address - std::prev(after)->end() : ~u64{0};
  const u64 ahead = has_after ? after->begin - address : ~u64{0};
  if (has_before && address < std::prev(after)->end())
    return text + fmt::format(", over the end of an allocation of {} bytes", std::prev(after)->bytes);
  if (has_before && past <= ahead)
    return text + fmt::format(", {} bytes past the end of an allocation of {} bytes", past, std::prev(after)->bytes);
  if (has_after) return text + fmt::format(", {} bytes ahead of an allocation of {} bytes", ahead, after->bytes);
  return text + ", in no allocation";
}

}  // namespace tilewright::rt::emulator
