// Scratch by kind of op. The plans that the sizes follow from are shared with the lowering.
#include "passes/analysis/shared_scratch.h"

#include <algorithm>

#include "passes/plans/atomic_plan.h"
#include "passes/plans/conversion_plan.h"
#include "passes/plans/dot_plan.h"
#include "passes/plans/reduce_plan.h"
#include "passes/plans/scan_plan.h"
#include "passes/plans/sort_plan.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

/// Of an op that moves the elements of its operand, a tile.
Conversion conversion(const Function& f, OpId id) {
  const ValueId x = f.operand(id, 0);
  const std::uint32_t flip = f.kind(id) == OpKind::flip_ ? f.layout(x).axis_mask(static_cast<int>(f.attr(id, ir::AttrName::axis))) : 0;
  return plan_conversion(f.layout(x).without_free_registers(), f.layout(f.result(id)).without_free_registers(), f.type(x).element_bytes(),
                         flip);
}

/// A tile that goes through shared memory, if need be in pieces.
std::int64_t whole_or_piece(const ir::Type& t) { return std::min(t.elements() * t.element_bytes(), std::int64_t{1} << kLog2MostSharedBytes); }

std::int64_t moves(const Function& f, OpId id) {
  const ir::Type t = f.type(f.operand(id, 0));
  return t.is_scalar() || conversion(f, id).route ? 0 : whole_or_piece(t);
}

std::int64_t reduce(const Function& f, OpId id) {
  const auto& operands = f.op(id).operands;
  const ReducePlan plan = plan_reduce(f.layout(operands[0]).without_free_registers(), static_cast<int>(f.attr(id, ir::AttrName::axis)),
                                      f.attr(id, ir::AttrName::commutative) != 0);
  std::int64_t bytes = 0;
  for (const ReduceExchange& x : plan.exchanges)
    for (ValueId v : operands) bytes += exchange_bytes(x, f.type(v).scalar());
  return bytes;
}

std::int64_t scan(const Function& f, OpId id) {
  const auto& operands = f.op(id).operands;
  const ScanPlan plan = plan_scan(f.layout(operands[0]).without_free_registers(), static_cast<int>(f.attr(id, ir::AttrName::axis)));
  std::int64_t bytes = 0;
  for (ValueId v : operands) bytes += total_bytes(plan, f.type(v).scalar());
  return bytes;
}

}  // namespace

std::int64_t shared_scratch(const ir::Function& f, ir::OpId id, const ir::TargetDesc&, int num_warps) {
  switch (f.kind(id)) {
    case OpKind::convert_layout_:
    case OpKind::flip_: return moves(f, id);
    case OpKind::reduce_: return reduce(f, id);
    case OpKind::dot_: return plan_dot(f, id).bytes;
    case OpKind::gather_: return whole_or_piece(f.type(f.operand(id, 0)));
    case OpKind::histogram_: return whole_or_piece(f.type(f.result(id)));
    case OpKind::atomic_add_:
    case OpKind::atomic_max_:
    case OpKind::atomic_min_:
    case OpKind::atomic_and_:
    case OpKind::atomic_or_:
    case OpKind::atomic_xor_:
    case OpKind::atomic_exchange_:
    case OpKind::atomic_cas_:
    case OpKind::atomic_update_: return atomic_scratch(f, id, num_warps);
    case OpKind::device_print_:
    case OpKind::device_assert_: return num_warps > 1 ? 4 : 0;  // where its record goes
    case OpKind::scan_: return scan(f, id);
    case OpKind::sort_: return SortPlan(f, id, num_warps).scratch_bytes;
    default: return 0;
  }
}

bool has_internal_barrier(const ir::Function& f, ir::OpId id) {
  switch (f.kind(id)) {
    case OpKind::convert_layout_:
    case OpKind::flip_: return conversion(f, id).crosses_warps;
    default: return true;
  }
}

}  // namespace tilewright::passes
