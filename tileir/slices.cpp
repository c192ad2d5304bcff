// Walks up the nest of regions.
#include "tileir/slices.h"

#include "tileir/op_kind.h"

namespace tilewright::ir {

OpId enclosing_loop(const Function& f, BlockId b) {
  for (OpId owner = f.block(b).parent; owner; owner = parent_op(f, owner))
    if (f.kind(owner) == OpKind::for_ || f.kind(owner) == OpKind::while_) return owner;
  return {};
}

OpId ancestor_in(const Function& f, OpId id, BlockId block) {
  while (id && f.op(id).parent != block) id = parent_op(f, id);
  return id;
}

std::vector<ValueId> used_from_above(const Function& f, BlockId region) {
  std::vector<ValueId> values;
  std::vector<bool> seen(f.value_capacity());  // found already, or defined in the region: definitions come before uses
  const auto define = [&](const std::vector<ValueId>& defined) {
    for (ValueId v : defined) seen[v.index] = true;
  };
  define(f.block(region).args);
  f.walk(region, [&](OpId id) {
    for (ValueId v : f.op(id).operands)
      if (!seen[v.index]) {
        seen[v.index] = true;
        values.push_back(v);
      }
    define(f.op(id).results);
    for (BlockId r : f.op(id).regions) define(f.block(r).args);
  });
  return values;
}

}  // namespace tilewright::ir
