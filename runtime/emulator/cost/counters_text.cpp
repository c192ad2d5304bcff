// Writes counters as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/emulator/cost/roofline.h"

namespace tilewright::rt::emulator {
namespace {

double part(u64 a, u64 b) { return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b); }

std::string traffic_text(Traffic traffic, const Count& count) {
  const char* unit = traffic == Traffic::sectors ? "sectors" : "wavefronts";
  std::string text = fmt::format("{} requests of {:.2f} {} (at best {:.2f}), {} bytes", count.requests, part(count.units, count.requests),
                                 unit, part(count.ideal, count.requests), count.bytes);
  if (traffic == Traffic::wavefronts) text += fmt::format(", {} bank conflicts", count.units - count.ideal);
  return text;
}

std::string lines_text(const KernelCounters& counters) {
  std::string text;
  for (const auto& [at, line] : line_counts(counters)) {
    text += fmt::format("  {:<9} {} instructions", at.second > 0 ? fmt::format("{}:{}", at.first, at.second) : "elsewhere", line.executed);
    if (line.sectors.requests > 0) text += "; " + traffic_text(Traffic::sectors, line.sectors);
    if (line.wavefronts.requests > 0) text += "; shared: " + traffic_text(Traffic::wavefronts, line.wavefronts);
    text += "\n";
  }
  return text;
}

}  // namespace

std::string report_text(const KernelCounters& counters, int registers) {
  const Count total = counters.total();
  std::string text = fmt::format("  {:<9} {} launch{} of {} blocks: {} warp instructions, {:.1f} lanes each\n", "emulated",
                                 counters.launches, counters.launches == 1 ? "" : "es",
                                 counters.blocks / std::max<u64>(counters.launches, 1), total.executed, part(total.lanes, total.executed));
  std::vector<std::pair<u64, Category>> mix;
  for (int k = 0; k < kCategories; ++k)
    if (const Count count = counters.of(static_cast<Category>(k)); count.executed > 0)
      mix.emplace_back(count.executed, static_cast<Category>(k));
  std::sort(mix.begin(), mix.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  for (const auto& [executed, category] : mix) {
    text += fmt::format("  {:<12} {:>9} instructions, {:.1f} %", name_of(category), executed, 100 * part(executed, total.executed));
    if (const Traffic traffic = traffic_of(category); traffic != Traffic::none) text += ": " + traffic_text(traffic, counters.of(category));
    text += "\n";
  }
  const std::vector<int> never = counters.never_ran();
  text += fmt::format("  {:<9} {} of {} instructions", "never ran", never.size(), counters.instructions.size());
  if (!never.empty()) text += fmt::format(", {} {} of the PTX", never.size() == 1 ? "line" : "lines", fmt::join(never, ", "));
  return text + "\n" + estimates_text(counters, registers) + lines_text(counters);
}

}  // namespace tilewright::rt::emulator
