// Plans a dot that is computed by fused multiply-adds.
#include "passes/plans/dot_plan.h"

#include <algorithm>

namespace tilewright::passes {

using ir::HardwareDim;
using ir::LinearLayout;

namespace {

/// Most multiply-adds of a thread in an unrolled step. With more, a loop over K is as fast and compiles in less time.
constexpr int kLog2StepOperations = 8;
constexpr std::int64_t kAlignment = 16;

/// The layout of the elements of an operand that a thread needs for its accumulator elements, with the lowest log2_ks bits of K in
/// registers.
template <class Map>
LinearLayout reader(const LinearLayout& accumulator, const std::vector<int>& extents, Map&& map, std::uint32_t k_unit, int log2_ks) {
  LinearLayout l(extents);
  for (int i = 0; i < log2_ks; ++i) l.add_basis(HardwareDim::reg, k_unit << i);
  for (HardwareDim d : {HardwareDim::reg, HardwareDim::lane, HardwareDim::warp})
    for (std::uint32_t basis : accumulator.bases(d)) l.add_basis(d, map(basis));
  return l.without_free_registers();
}

}  // namespace

std::uint32_t DotPlan::index_in_a(std::uint32_t flat, std::uint32_t k) const { return (flat >> log2_n << log2_k) | k; }

std::uint32_t DotPlan::index_in_b(std::uint32_t flat, std::uint32_t k) const {
  const std::uint32_t n = flat & ((1u << log2_n) - 1), batch = flat >> (log2_n + log2_m);
  return (batch << log2_k | k) << log2_n | n;
}

LinearLayout dot_operand_layout(const LinearLayout& accumulator, ir::Type operand, int i) {
  DotPlan plan;  // depends on the shape only
  const int row = operand.rank() - 2, column = operand.rank() - 1;
  plan.log2_k = operand.log2_extent(i == 0 ? column : row), plan.log2_n = accumulator.log2_extents()[static_cast<std::size_t>(column)];
  plan.log2_m = accumulator.log2_extents()[static_cast<std::size_t>(row)];
  const std::vector<int> extents = ir::log2_extents(operand);
  if (i == 0) return reader(accumulator, extents, [&](std::uint32_t flat) { return plan.index_in_a(flat, 0); }, 1, plan.log2_k);
  return reader(accumulator, extents, [&](std::uint32_t flat) { return plan.index_in_b(flat, 0); }, 1u << plan.log2_n, plan.log2_k);
}

DotPlan plan_dot(const ir::Function& f, ir::OpId id) {
  const auto& operands = f.op(id).operands;
  const ir::Type ta = f.type(operands[0]), tb = f.type(operands[1]);
  const LinearLayout accumulator = f.layout(f.result(id)).without_free_registers();
  const int row = ta.rank() - 2, column = ta.rank() - 1;
  DotPlan plan;
  plan.log2_m = ta.log2_extent(row), plan.log2_k = ta.log2_extent(column), plan.log2_n = tb.log2_extent(column);
  plan.log2_step = std::min(plan.log2_k, std::max(2, kLog2StepOperations - accumulator.bits(HardwareDim::reg)));
  plan.a.source = f.layout(operands[0]).without_free_registers();
  plan.b.source = f.layout(operands[1]).without_free_registers();
  if (plan.a.source == dot_operand_layout(accumulator, ta, 0) && plan.b.source == dot_operand_layout(accumulator, tb, 1)) {
    plan.in_registers = true, plan.log2_step = plan.log2_k;
    return plan;
  }

  const auto to_a = [&](std::uint32_t flat) { return plan.index_in_a(flat, 0); };
  const auto to_b = [&](std::uint32_t flat) { return plan.index_in_b(flat, 0); };
  const auto plan_operand = [&](DotOperand& o, ir::Type t, auto&& map, std::uint32_t k_unit) {
    const std::vector<int> extents = ir::log2_extents(t);
    const auto plan_for = [&](int log2_ks) {
      o.shared = ir::plan_swizzle(o.source, reader(accumulator, extents, map, k_unit, log2_ks), t.element_bytes());
    };
    // A vector must be within one step, and the vectors of all steps must have the same alignment.
    const auto steps_keep_vectors = [&] {
      const ir::F2Matrix offset_of = o.shared.shared.matrix();
      for (int i = plan.log2_step; i < plan.log2_k; ++i)
        if ((*offset_of.solve(k_unit << i) & ((1u << o.shared.log2_load_vector) - 1)) != 0) return false;
      return true;
    };
    plan_for(plan.log2_step);
    if (steps_keep_vectors()) return;
    plan_for(plan.log2_k);
    while (!steps_keep_vectors()) ++plan.log2_step;
  };
  plan_operand(plan.a, ta, to_a, 1);
  plan_operand(plan.b, tb, to_b, 1u << plan.log2_n);
  plan.log2_steps = plan.log2_k - plan.log2_step;

  const auto finish = [&](DotOperand& o, ir::Type t, auto&& map, std::uint32_t k_unit) {
    o.reader = reader(accumulator, ir::log2_extents(t), map, k_unit, plan.log2_step);
    const ir::F2Matrix offset_of = o.shared.shared.matrix();
    for (int i = plan.log2_step; i < plan.log2_k; ++i) o.step_offset.columns.push_back(*offset_of.solve(k_unit << i));
    o.offset = plan.bytes;
    plan.bytes += (t.elements() * t.element_bytes() + kAlignment - 1) / kAlignment * kAlignment;
  };
  finish(plan.a, ta, to_a, 1);
  finish(plan.b, tb, to_b, 1u << plan.log2_n);
  return plan;
}

}  // namespace tilewright::passes
