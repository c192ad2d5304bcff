// Rules for loads, stores, atomics and histograms with constant masks.
#include "passes/canonicalize/rules.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::canonical {

namespace {

bool fold_load(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const std::size_t operands = f.op(id).operands.size();
  if (!f.has_uses(f.result(id)) && f.attr(id, ir::AttrName::is_volatile) == 0) {
    rw.erase(id);
    return true;
  }
  if (operands < 2) return false;
  const auto mask = f.constant_bits(f.operand(id, 1));
  if (mask && *mask == 0) {  // load(p, false, other) -> other, or 0
    rw.replace(id, operands > 2 ? f.operand(id, 2) : rw.constant_bits(f.type(f.result(id)), 0));
    return true;
  }
  if (mask) {  // load(p, true, other) -> load(p)
    for (int i = static_cast<int>(operands) - 1; i >= 1; --i) rw.erase_operand(id, i);
    return true;
  }
  if (operands > 2 && f.constant_bits(f.operand(id, 2)) == 0u) {  // load(p, m, 0) -> load(p, m)
    rw.erase_operand(id, 2);
    return true;
  }
  return false;
}

bool fold_store(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  if (f.op(id).operands.size() < 3) return false;
  const auto mask = f.constant_bits(f.operand(id, 2));
  if (!mask) return false;
  if (*mask == 0)
    rw.erase(id);  // store(p, x, false) ->
  else
    rw.erase_operand(id, 2);  // store(p, x, true) -> store(p, x)
  return true;
}

bool fold_atomic(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const ValueId masked_by = ir::mask_of(f, id);
  const auto mask = masked_by ? f.constant_bits(masked_by) : std::nullopt;
  if (!mask) return false;
  if (*mask == 0)
    rw.replace(id, rw.constant_bits(f.type(f.result(id)), 0));  // atomic(p, x, false) -> 0
  else
    rw.erase_operand(id, *ir::mask_index(f.kind(id)));  // atomic(p, x, true) -> atomic(p, x)
  return true;
}

bool fold_histogram(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  if (f.op(id).operands.size() < 2) return false;
  const auto mask = f.constant_bits(f.operand(id, 1));
  if (!mask) return false;
  if (*mask == 0)
    rw.replace(id, rw.constant_bits(f.type(f.result(id)), 0));  // histogram(x, false) -> 0
  else
    rw.erase_operand(id, 1);  // histogram(x, true) -> histogram(x)
  return true;
}

}  // namespace

bool fold_memory(Rewriter& rw, OpId id) {
  switch (rw.ir().kind(id)) {
    case OpKind::load_: return fold_load(rw, id) || drop_unit_axes_of_load(rw, id);
    case OpKind::store_: return fold_store(rw, id) || drop_unit_axes_of_store(rw, id);
    case OpKind::histogram_: return fold_histogram(rw, id);
    default: return ir::info(rw.ir().kind(id)).family == ir::Family::atomic && fold_atomic(rw, id);
  }
}

}  // namespace tilewright::passes::canonical
