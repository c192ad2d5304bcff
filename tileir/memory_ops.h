// Which operand of a load, store or atomic is its mask.
#pragma once
#include <optional>

#include "tileir/ir.h"
#include "tileir/op_info.h"

namespace tilewright::ir {

/// The place that the op's kind has for a mask; none: it takes none, or is no access of memory.
inline std::optional<int> mask_index(OpKind k) {
  if (k == OpKind::load_) return 1;
  if (k == OpKind::atomic_cas_) return 3;
  if (k == OpKind::store_ || info(k).family == Family::atomic) return 2;
  return std::nullopt;
}

/// The op's mask; none: it has none.
inline ValueId mask_of(const Function& f, OpId id) {
  const std::optional<int> at = mask_index(f.kind(id));
  return at && f.op(id).operands.size() > static_cast<std::size_t>(*at) ? f.operand(id, *at) : ValueId{};
}

}  // namespace tilewright::ir
