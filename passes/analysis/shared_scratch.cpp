// Scratch by kind of op. The plans that the sizes follow from are shared with the lowering.
#include "passes/analysis/shared_scratch.h"

#include "passes/analysis/conversion_plan.h"

namespace tilewright::passes {

using ir::Function;
using ir::OpId;
using ir::OpKind;
using ir::ValueId;

namespace {

/// Of an op that moves the elements of its operand: all of them, if they have to go through shared memory.
std::int64_t moves(const Function& f, OpId id) {
  const ValueId x = f.operand(id, 0);
  const ir::Type t = f.type(x);
  if (t.is_scalar()) return 0;
  const std::uint32_t flip = f.kind(id) == OpKind::flip_ ? f.layout(x).axis_mask(static_cast<int>(f.attr(id, ir::AttrName::axis))) : 0;
  const Conversion plan = plan_conversion(f.layout(x).without_free_registers(), f.layout(f.result(id)).without_free_registers(),
                                          t.element_bytes(), flip);
  return plan.route ? 0 : t.elements() * t.element_bytes();
}

}  // namespace

std::int64_t shared_scratch(const ir::Function& f, ir::OpId id, const ir::TargetDesc&, int) {
  switch (f.kind(id)) {
    case OpKind::convert_layout_:
    case OpKind::flip_: return moves(f, id);
    default: return 0;
  }
}

}  // namespace tilewright::passes
