// Which operand of a load, store or atomic is its mask.
#pragma once
#include <optional>

#include "tileir/ir.h"

namespace tilewright::ir {

/// The place that the op's kind has for a mask; none: it takes none, or is no access of memory.
constexpr std::optional<int> mask_index(OpKind k) {
  switch (k) {
    case OpKind::load_: return 1;
    case OpKind::store_:
    case OpKind::atomic_add_:
    case OpKind::atomic_max_:
    case OpKind::atomic_min_:
    case OpKind::atomic_and_:
    case OpKind::atomic_or_:
    case OpKind::atomic_xor_:
    case OpKind::atomic_exchange_:
    case OpKind::atomic_update_: return 2;
    default: return std::nullopt;
  }
}

/// The op's mask; none: it has none.
inline ValueId mask_of(const Function& f, OpId id) {
  const std::optional<int> at = mask_index(f.kind(id));
  return at && f.op(id).operands.size() > static_cast<std::size_t>(*at) ? f.operand(id, *at) : ValueId{};
}

}  // namespace tilewright::ir
