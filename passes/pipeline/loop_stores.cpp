// Compares the parameters from which the addresses of stores and loads are computed.
#include "passes/pipeline/loop_stores.h"

#include <algorithm>

#include "passes/analysis/address_form.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

LoopStores::LoopStores(const Function& f, OpId loop) : f_(f) {
  f.walk(f.region(loop), [&](OpId id) {
    if (!ir::info(f.kind(id)).has(ir::kWrites)) return;
    if (f.kind(id) == OpKind::store_ && !f.attr(id, AttrName::is_volatile))
      stores_.push_back(id);
    else if (!other_write_)
      other_write_ = id;
  });
}

std::optional<OpId> LoopStores::store_before(OpId load, const AxisInfoAnalysis& axes) const {
  const auto base = [&](OpId id) {
    const auto form = address_form(f_, id, axes);
    return form ? form->base : ValueId{};
  };
  const ValueId read = base(load);
  const auto at = std::find_if(stores_.begin(), stores_.end(), [&](OpId store) { return may_share_memory(f_, read, base(store)); });
  return at == stores_.end() ? std::nullopt : std::optional(*at);
}

}  // namespace tilewright::passes
