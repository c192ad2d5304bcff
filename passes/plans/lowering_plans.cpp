// Makes plans by kind of op, and derives the scratch that they need.
#include "passes/plans/lowering_plans.h"

#include <algorithm>

#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"
#include "tileir/roles.h"

namespace tilewright::passes {

namespace {

/// The conversion of an op that moves the elements of its operand, a tile.
Conversion conversion_of(const Function& f, OpId id) {
  const ValueId x = f.operand(id, 0);
  const std::uint32_t flip = f.kind(id) == OpKind::flip_ ? f.layout(x).axis_mask(static_cast<int>(f.attr(id, ir::AttrName::axis))) : 0;
  return plan_conversion(f.layout(x).without_free_registers(), f.layout(f.result(id)).without_free_registers(), f.type(x).element_bytes(),
                         flip);
}

/// The bytes of a tile that passes through shared memory, in slices if it is too large.
std::int64_t whole_or_slice(const ir::Type& t) {
  return std::min(t.elements() * t.element_bytes(), std::int64_t{1} << kLog2MostSharedBytes);
}

ReducePlan reduce_of(const Function& f, OpId id) {
  return plan_reduce(f.layout(f.operand(id, 0)).without_free_registers(), static_cast<int>(f.attr(id, ir::AttrName::axis)),
                     f.attr(id, ir::AttrName::commutative) != 0);
}

std::int64_t reduce_scratch(const Function& f, OpId id, const ReducePlan& plan) {
  std::int64_t bytes = 0;
  for (const ReduceExchange& x : plan.exchanges)
    for (ValueId v : f.op(id).operands) bytes += exchange_bytes(x, f.type(v).scalar());
  return bytes;
}

ScanPlan scan_of(const Function& f, OpId id) {
  return plan_scan(f.layout(f.operand(id, 0)).without_free_registers(), static_cast<int>(f.attr(id, ir::AttrName::axis)));
}

std::int64_t scan_scratch(const Function& f, OpId id, const ScanPlan& plan) {
  std::int64_t bytes = 0;
  for (ValueId v : f.op(id).operands) bytes += total_bytes(plan, f.type(v).scalar());
  return bytes;
}

}  // namespace

std::optional<LoweringPlans::OpPlan> LoweringPlans::make(const Function& f, OpId id, int num_warps) {
  if (ir::info(f.kind(id)).family == ir::Family::atomic)
    return OpPlan{passes::atomic_results(f, id, num_warps), atomic_scratch(f, id, num_warps)};
  switch (f.kind(id)) {
    case OpKind::convert_layout_:
    case OpKind::flip_: {
      const ir::Type t = f.type(f.operand(id, 0));
      if (t.is_scalar()) return std::nullopt;
      Conversion plan = conversion_of(f, id);
      const std::int64_t bytes = plan.route ? 0 : whole_or_slice(t);
      return OpPlan{std::move(plan), bytes};
    }
    case OpKind::reduce_: {
      ReducePlan plan = reduce_of(f, id);
      const std::int64_t bytes = reduce_scratch(f, id, plan);
      return OpPlan{std::move(plan), bytes};
    }
    case OpKind::scan_: {
      ScanPlan plan = scan_of(f, id);
      const std::int64_t bytes = scan_scratch(f, id, plan);
      return OpPlan{std::move(plan), bytes};
    }
    case OpKind::sort_: {
      SortPlan plan(f, id, num_warps);
      const std::int64_t bytes = plan.scratch_bytes;
      return OpPlan{std::move(plan), bytes};
    }
    case OpKind::dot_: {
      DotPlan plan = plan_dot(f, id);
      const std::int64_t bytes = plan.bytes;
      return OpPlan{std::move(plan), bytes};
    }
    case OpKind::alloc_buffer_: return OpPlan{{}, ir::buffer_bytes(f.type(f.result(id)))};
    case OpKind::alloc_mbarriers_: return OpPlan{{}, kMbarrierBytes * f.type(f.result(id)).slots()};
    case OpKind::gather_: return OpPlan{{}, whole_or_slice(f.type(f.operand(id, 0)))};
    case OpKind::histogram_: return OpPlan{{}, whole_or_slice(f.type(f.result(id)))};
    case OpKind::device_print_:
    case OpKind::device_assert_: return OpPlan{{}, num_warps > 1 ? 4 : 0};  // the position of its record
    default: return std::nullopt;
  }
}

LoweringPlans::LoweringPlans(const Function& f, int num_warps) {
  f.walk([&](OpId id) {
    if (std::optional<OpPlan> plan = make(f, id, ir::warps_of(f, id, num_warps))) by_op_.emplace(id.index, *std::move(plan));
  });
}

std::int64_t LoweringPlans::scratch_bytes(OpId id) const {
  const auto at = by_op_.find(id.index);
  return at == by_op_.end() ? 0 : at->second.scratch_bytes;
}

std::int64_t LoweringPlans::shared_bytes(const Function& f) const {
  std::int64_t end = 0;
  f.walk([&](OpId id) {
    if (const std::int64_t bytes = scratch_bytes(id)) end = std::max(end, f.attr(id, ir::AttrName::shared) + bytes);
  });
  if (const OpId op = ir::roles_op(f))
    for (const ir::Role& r : ir::roles(f, op)) {
      const InstanceMemory memory = instance_memory(f, r.region);
      end = std::max(end, memory.begin + r.instances * memory.stride);
    }
  return end;
}

LoweringPlans::InstanceMemory LoweringPlans::instance_memory(const Function& f, BlockId role) const {
  std::int64_t begin = INT64_MAX, end = 0;
  f.walk(role, [&](OpId id) {
    const std::int64_t bytes = scratch_bytes(id);
    if (bytes == 0) return;
    begin = std::min(begin, f.attr(id, ir::AttrName::shared));
    end = std::max(end, f.attr(id, ir::AttrName::shared) + bytes);
  });
  if (end == 0) return {};
  return {begin, (end - begin + kInstanceAlignment - 1) / kInstanceAlignment * kInstanceAlignment};
}

bool LoweringPlans::has_internal_barrier(OpId id) const {
  const auto* conversion = std::get_if<Conversion>(&by_op_.at(id.index).how);
  return !conversion || conversion->crosses_warps;
}

}  // namespace tilewright::passes
