// Records the last launches of a device.
#include "runtime/cuda/launch_history.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::rt::cuda {

void LaunchHistory::add(const std::string& kernel, const Here& where) noexcept {
  Entry& e = entries_[count_.fetch_add(1, std::memory_order_relaxed) % kKept];
  e.kernel.store(&kernel, std::memory_order_relaxed);
  e.file.store(where.file_name(), std::memory_order_relaxed);
  e.line.store(where.line(), std::memory_order_relaxed);
}

std::string LaunchHistory::suspects() const {
  const std::uint64_t end = count(), good = std::min(end, good_.load(std::memory_order_relaxed));
  if (end == good) return "work that Tilewright did not launch";
  const auto described = [&](std::uint64_t i, const char* before_location) {
    const Entry& e = entries_[i % kKept];
    const std::string* kernel = e.kernel.load(std::memory_order_relaxed);
    const char* file = e.file.load(std::memory_order_relaxed);
    const std::uint32_t line = e.line.load(std::memory_order_relaxed);
    if (!kernel) return std::string("an unknown kernel");
    return line == 0 || !file ? fmt::format("'{}'", *kernel) : fmt::format("'{}'{}{}:{}", *kernel, before_location, file, line);
  };
  if (end - good == 1) return fmt::format("kernel {},", described(good, ", launched at "));
  std::string all;
  const std::uint64_t first = std::max(good, end > kKept ? end - kKept : 0);
  for (std::uint64_t i = end; i-- > first;) all += (all.empty() ? "" : ", ") + described(i, " at ");
  return fmt::format("one of the {}kernels launched since all was well ({}{})", first > good ? "last " : "", all,
                     first > good ? ", ..." : "");
}

}  // namespace tilewright::rt::cuda
