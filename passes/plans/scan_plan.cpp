// Plans the exchange of totals between warps, as layouts.
#include "passes/plans/scan_plan.h"

#include <algorithm>

#include "tileir/diagnostics.h"

namespace tilewright::passes {

using ir::HardwareDim;
using ir::LinearLayout;

ScanPlan plan_scan(const LinearLayout& l, int axis) {
  auto order = ir::axis_order(l, axis);
  TW_CHECK(order, "the axis of a scan is not in order");
  ScanPlan plan;
  plan.order = *std::move(order);
  const int warps = static_cast<int>(plan.order.warps.size()), chunks = static_cast<int>(plan.order.high_registers.size());
  const LinearLayout rows = l.without_axis(axis);
  plan.totals = plan.wanted = LinearLayout({rows.log2_elements() + warps + chunks});
  const auto add = [&](HardwareDim d, std::uint32_t own, std::uint32_t wanted) {
    plan.totals.add_basis(d, own);
    plan.wanted.add_basis(d, wanted);
  };
  for (int i = 0; i < warps; ++i) plan.wanted.add_basis(HardwareDim::reg, 1u << i);
  for (int i = 0; i < chunks; ++i) add(HardwareDim::reg, 1u << (warps + i), 1u << (warps + i));
  const auto has = [](const std::vector<int>& bits, int bit) { return std::find(bits.begin(), bits.end(), bit) != bits.end(); };
  for (int bit = 0; bit < l.bits(HardwareDim::reg); ++bit) {
    if (has(plan.order.low_registers, bit) || has(plan.order.high_registers, bit)) continue;
    plan.across.push_back(bit);
    const std::uint32_t row = rows.bases(HardwareDim::reg)[static_cast<std::size_t>(bit)] << (warps + chunks);
    add(HardwareDim::reg, row, row);
  }
  for (const std::uint32_t row : rows.bases(HardwareDim::lane)) add(HardwareDim::lane, row << (warps + chunks), row << (warps + chunks));
  for (int bit = 0; bit < l.bits(HardwareDim::warp); ++bit) {
    const auto at = std::find(plan.order.warps.begin(), plan.order.warps.end(), bit);
    const std::uint32_t row = rows.bases(HardwareDim::warp)[static_cast<std::size_t>(bit)] << (warps + chunks);
    add(HardwareDim::warp, at != plan.order.warps.end() ? 1u << (at - plan.order.warps.begin()) : row, row);
  }
  return plan;
}

std::int64_t total_bytes(const ScanPlan& plan, const ir::Type& element) {
  constexpr std::int64_t kWidestAccess = 16;
  if (plan.order.warps.empty()) return 0;
  const std::int64_t bytes = (std::int64_t{1} << plan.totals.log2_elements()) * element.element_bytes();
  return (bytes + kWidestAccess - 1) / kWidestAccess * kWidestAccess;
}

}  // namespace tilewright::passes
