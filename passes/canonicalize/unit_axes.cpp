// Rules for accesses of tiles that have axes of one element: addresses and masks are computed without these axes if the value has none.
#include <map>
#include <optional>

#include "passes/canonicalize/rules.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::canonical {

namespace {

using Shape = std::vector<std::int64_t>;

/// The axes of `from` that `to` also has, in order, if reshaping only drops axes of one element; none otherwise.
std::optional<std::vector<int>> kept_axes(Type from, Type to) {
  if (from.is_scalar() || to.is_scalar() || to.rank() >= from.rank()) return std::nullopt;
  std::vector<int> kept;
  for (int d = 0; d < from.rank(); ++d) {
    const int next = static_cast<int>(kept.size());
    if (next < to.rank() && from.log2_extent(d) == to.log2_extent(next))
      kept.push_back(d);
    else if (from.log2_extent(d) > 0)
      return std::nullopt;
  }
  return static_cast<int>(kept.size()) == to.rank() ? std::optional(kept) : std::nullopt;
}

/// Recomputes tiles without axes of one element.
class AxisDropper {
 public:
  AxisDropper(Rewriter& rw, std::vector<int> kept) : rw_(rw), f_(rw.ir()), kept_(std::move(kept)) {}

  /// v without the axes, computed by the same element-wise ops, so that analyses still recognise them.
  ValueId run(ValueId v) {
    const auto [it, is_new] = made_.try_emplace(v);
    if (!is_new) return it->second;
    const ValueId made = without_axes(v);
    return made_[v] = made;
  }

 private:
  ValueId without_axes(ValueId v) {
    const Type t = f_.type(v);
    if (t.is_scalar()) return v;
    Shape shape;
    for (int d : kept_) shape.push_back(t.extent(d));
    if (const ValueId small = operand_of(f_, v, OpKind::broadcast_)) return rw_.broadcast(run(small), shape);
    const OpId id = f_.value(v).op;
    if (!id || !ir::info(f_.kind(id)).has(ir::kElementwise) || ir::info(f_.kind(id)).has(ir::kExpensive)) return rw_.reshape(v, shape);
    const ir::OpData op = f_.op(id);  // a copy: the pool grows below
    std::vector<ValueId> operands;
    for (ValueId x : op.operands) operands.push_back(run(x));
    const Type to = t.with_shape(shape);
    return f_.result(rw_.create(op.kind, operands, op.attrs, std::span(&to, 1)));
  }

  Rewriter& rw_;
  const Function& f_;
  std::vector<int> kept_;  // the axes that stay
  std::map<ValueId, ValueId> made_;
};

}  // namespace

bool drop_unit_axes_of_load(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const std::vector<OpId>& users = f.value(f.result(id)).users;
  if (users.size() != 1 || f.kind(users[0]) != OpKind::reshape_ || f.is_distributed()) return false;
  const OpId reshape = users[0];
  const Type to = f.type(f.result(reshape));
  const auto kept = kept_axes(f.type(f.result(id)), to);
  if (!kept) return false;
  const ir::OpData op = f.op(id);  // a copy: the pool grows below
  AxisDropper dropper(rw, *kept);
  std::vector<ValueId> operands;
  for (ValueId v : op.operands) operands.push_back(dropper.run(v));
  const OpId made = rw.create(op.kind, operands, op.attrs, std::span(&to, 1));
  rw.replace(reshape, f.result(made));
  rw.erase(id);
  return true;
}

bool drop_unit_axes_of_store(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const OpId reshape = f.defined_by(f.operand(id, 1), OpKind::reshape_);
  if (!reshape || f.is_distributed()) return false;
  const ValueId value = f.operand(reshape, 0);
  const auto kept = kept_axes(f.type(f.operand(id, 1)), f.type(value));
  if (!kept) return false;
  const ir::OpData op = f.op(id);  // a copy: the pool grows below
  AxisDropper dropper(rw, *kept);
  for (std::size_t i = 0; i < op.operands.size(); ++i)
    rw.set_operand(id, static_cast<int>(i), i == 1 ? value : dropper.run(op.operands[i]));
  return true;
}

}  // namespace tilewright::passes::canonical
