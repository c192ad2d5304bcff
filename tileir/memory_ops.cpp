// Finds the mask operand of a load, store or atomic, whether updates commute, and the allocation of a buffer.
#include "tileir/memory_ops.h"

#include "tileir/op_kind.h"
#include "tileir/slices.h"

namespace tilewright::ir {

std::optional<int> mask_index(OpKind k) {
  if (k == OpKind::load_) return 1;
  if (k == OpKind::atomic_cas_ || k == OpKind::copy_async_) return 3;
  if (k == OpKind::store_ || info(k).family == Family::atomic) return 2;
  return std::nullopt;
}

ValueId mask_of(const Function& f, OpId id) {
  const std::optional<int> at = mask_index(f.kind(id));
  return at && f.op(id).operands.size() > static_cast<std::size_t>(*at) ? f.operand(id, *at) : ValueId{};
}

bool is_commutative_update(OpKind k) {
  switch (k) {
    case OpKind::atomic_add_:
    case OpKind::atomic_max_:
    case OpKind::atomic_min_:
    case OpKind::atomic_and_:
    case OpKind::atomic_or_:
    case OpKind::atomic_xor_: return true;
    default: return false;
  }
}

/// For an mbarrier: its alloc_mbarriers.
OpId allocation_of(const Function& f, ValueId buffer) {
  OpId id = f.value(buffer).op;
  while (f.kind(id) != OpKind::alloc_buffer_ && f.kind(id) != OpKind::alloc_mbarriers_) id = f.value(f.operand(id, 0)).op;
  return id;
}

OpId end_of_reads(const Function& f, OpId id) {
  const OpKind wait = f.kind(id) == OpKind::bulk_store_ ? OpKind::bulk_wait_ : OpKind::mma_wait_;
  for (OpId at = id; at; at = parent_op(f, at))
    for (OpId next = f.op(at).next; next; next = f.op(next).next)
      if (f.kind(next) == wait && f.attr(next, AttrName::pending) == 0) return next;
  return {};
}

std::int64_t buffer_bytes(const Type& t) { return t.slots() * t.elements() * t.element_bytes(); }

}  // namespace tilewright::ir
