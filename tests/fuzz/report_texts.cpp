// Elements of reports from the memory of compiled kernels.
#include "tests/fuzz/report_texts.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>

#include "tests/fuzz/differential.h"

namespace tilewright::fuzz {

namespace {

/// The elements of a tile in memory, a byte for a bool.
ir::TileValue tile_at(const void* at, ir::Type t) {
  ir::TileValue v{t, std::vector<std::uint64_t>(static_cast<std::size_t>(t.elements()))};
  const auto size = static_cast<std::size_t>(ir::bytes(t.element()));
  for (std::size_t i = 0; i < v.bits.size(); ++i) std::memcpy(&v.bits[i], static_cast<const std::byte*>(at) + i * size, size);
  return v;
}

}  // namespace

void ReportTexts::take(void* context, const std::int32_t* program, const void* const* operands, std::int32_t site) {
  auto& reports = *static_cast<ReportTexts*>(context);
  const backend::ReportSite& s = reports.sites.at(static_cast<std::size_t>(site));
  std::vector<ir::TileValue> values;
  if (s.is_print)
    for (std::size_t i = 0; i < s.operands.size(); ++i) values.push_back(tile_at(operands[i], s.operands[i]));
  reports.programs.push_back({program[0], program[1], program[2]});
  reports.texts.push_back(report_text((s.is_print ? "" : "does not hold: ") + s.text, reports.programs.back(), values));
}

std::vector<std::string> ReportTexts::in_order() const {
  std::vector<std::size_t> order(texts.size());
  std::iota(order.begin(), order.end(), 0);
  const auto number = [&](std::size_t i) { return std::tuple(programs[i][2], programs[i][1], programs[i][0]); };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return number(a) < number(b); });
  std::vector<std::string> sorted;
  for (std::size_t i : order) sorted.push_back(texts[i]);
  return sorted;
}

}  // namespace tilewright::fuzz
