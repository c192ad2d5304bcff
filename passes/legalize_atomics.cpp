// Legalises atomics: those for which the target has no instruction become atomic_update, whose region computes the new value. These are max
// and min on floats, add on f16 (cpu) and bf16 (cpu, GPUs before sm_90). Code generation supports add on f32 and f64.
//
// Input, output: traced IR. Numerics do not change. See tests/files/passes/legalize_atomics/.
#include <optional>
#include <vector>

#include "passes/pass.h"
#include "passes/rewriter.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

/// The op that computes the new value; none if the target has an instruction for the atomic.
std::optional<OpKind> combiner(OpKind k, ir::Type t, const ir::TargetDesc& target) {
  if (!t.is_float()) return std::nullopt;
  const auto has_add = [&] {
    if (!target.is_gpu()) return ir::bits(t.element()) >= 32;
    return t.element() != ir::Element::bf16 || target.sm >= 90;
  };
  switch (k) {
    case OpKind::atomic_add_: return has_add() ? std::nullopt : std::optional(OpKind::add_);
    case OpKind::atomic_max_: return OpKind::maximum_;
    case OpKind::atomic_min_: return OpKind::minimum_;
    default: return std::nullopt;
  }
}

}  // namespace

bool legalize_atomics(ir::Function& f, const PassContext& context) {
  Rewriter rw(f);
  f.walk([&](ir::OpId id) {
    if (ir::info(f.kind(id)).family != ir::Family::atomic) return;
    const ir::Type element = f.type(f.result(id)).scalar();
    const auto kind = combiner(f.kind(id), element, context.target);
    if (!kind) return;
    rw.at(id);
    const std::vector<ValueId> operands = f.op(id).operands;
    const ir::OpId update = rw.create(OpKind::atomic_update_, operands, f.op(id).attrs);
    const ir::BlockId region = f.region(update);
    const ValueId old = f.add_arg(region, element), value = f.add_arg(region, element);
    rw.at_end(region);
    const ValueId yields[] = {rw.binary(*kind, old, value)};
    rw.create(OpKind::yield_, yields);
    rw.replace(id, f.result(update));
  });
  return rw.changed();
}

}  // namespace tilewright::passes
