// Compares the cost of a value's ops with that of its buffer.
#include "backend/host/recomputation.h"

#include <algorithm>

#include "passes/analysis/address_form.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::OpKind;
using ir::Type;

namespace {

bool is_cheap(OpKind k) { return k == OpKind::add_ || k == OpKind::sub_ || k == OpKind::mul_ || k == OpKind::neg_ || k == OpKind::fma_; }

}  // namespace

Recomputation::Recomputation(const Function& f, const EvaluationPlan& plan, const MemoryAxes& memory, BlockId block)
    : f_(f), plan_(plan), memory_(memory), block_(block) {
  const OpId parent = f.block(block).parent;
  is_of_contraction_ = parent && plan.contraction(parent);
  f.walk([&](OpId id) {
    if (ir::info(f.kind(id)).has(ir::kWrites) && !f.op(id).operands.empty() && f.type(f.operand(id, 0)).is_pointer())
      written_.push_back(passes::base_parameter(f, f.operand(id, 0)));
  });
}

std::vector<OpId> Recomputation::ops_of(ValueId v, const std::function<bool(ValueId)>& is_there) const {
  // An estimate: smaller tiles stay in the first cache beside what the loop nests read, or in registers.
  constexpr std::int64_t kLeastBytes = 8 << 10;
  // Tails of rows have masks, for which narrower vectors have no instruction.
  constexpr int kLeastLanes = 8;
  const Type t = f_.type(v);
  if (is_of_contraction_ || memory_.lanes < kLeastLanes || t.elements() * t.element_bytes() < kLeastBytes) return {};
  std::vector<OpId> ops;
  return collect(v, t, is_there, ops) ? ops : std::vector<OpId>{};
}

/// Whether a load of whole vectors gives the same elements later. Other programs may write what this kernel writes.
bool Recomputation::may_load_again(OpId load) const {
  const ValueId pointer = f_.operand(load, 0);
  const Type t = f_.type(pointer);
  int last = t.rank() - 1;
  while (last > 0 && t.log2_extent(last) == 0) --last;
  const ValueId base = passes::base_parameter(f_, pointer);
  return !f_.attr(load, ir::AttrName::is_volatile) && plan_.schedule(plan_.resolve(pointer).value) == Schedule::inlined &&
         memory_.info(pointer).contiguity[static_cast<std::size_t>(last)] >= memory_.lanes &&
         std::none_of(written_.begin(), written_.end(), [&](ValueId x) { return passes::may_share_memory(f_, base, x); });
}

bool Recomputation::collect(ValueId v, const Type& shape, const std::function<bool(ValueId)>& is_there, std::vector<OpId>& ops) const {
  // An estimate: more ops, of which loads find their lines in the first cache, take longer than a load from the second one.
  constexpr std::size_t kMostOps = 5;
  const Source s = plan_.resolve(v);
  const Type t = f_.type(s.value);
  if (plan_.schedule(s.value) == Schedule::scalar || plan_.schedule(s.value) == Schedule::inlined || is_there(s.value)) return true;
  if (plan_.schedule(s.value) != Schedule::fused || f_.defining_block(s.value) != block_ || t.shape() != shape.shape()) return false;
  for (int i = 0; i < t.rank(); ++i)
    if (t.log2_extent(i) > 0 && s.map[i] != i) return false;
  const OpId id = f_.value(s.value).op;
  if (std::find(ops.begin(), ops.end(), id) != ops.end()) return true;
  if (f_.kind(id) == OpKind::load_) {
    if (!may_load_again(id)) return false;
    for (std::size_t i = 1; i < f_.op(id).operands.size(); ++i)
      if (!collect(f_.operand(id, static_cast<int>(i)), shape, is_there, ops)) return false;
  } else {
    if (!is_cheap(f_.kind(id))) return false;
    for (ValueId x : f_.op(id).operands)
      if (!collect(x, shape, is_there, ops)) return false;
  }
  ops.push_back(id);
  return ops.size() <= kMostOps;
}

}  // namespace tilewright::backend::host
