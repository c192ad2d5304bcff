// Rules for chains of shape ops. Element-wise ops on broadcasts are computed before they are broadcast.
#include <algorithm>

#include "passes/canonicalize/rules.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::canonical {

namespace {

using Shape = std::vector<std::int64_t>;

/// The smallest shape at which an element-wise op over constants and broadcasts can be computed, if it is smaller than the result.
std::optional<Shape> smaller_shape(const Function& f, OpId id, Type result) {
  Shape joined(result.rank(), 1);
  bool all_scalars = true, any = false;
  for (ValueId v : f.op(id).operands) {
    if (f.constant_bits(v)) continue;
    const ValueId source = operand_of(f, v, OpKind::broadcast_);
    if (!source) return std::nullopt;
    any = true;
    const Type t = f.type(source);
    if (t.is_scalar()) continue;
    all_scalars = false;
    for (int d = 0; d < t.rank(); ++d) joined[d] = std::max(joined[d], t.extent(d));
  }
  if (!any) return std::nullopt;
  if (all_scalars) return Shape{};
  if (result.with_shape(joined).log2_elements() == result.log2_elements()) return std::nullopt;
  return joined;
}

// f(broadcast(x), broadcast(y), c) -> broadcast(f(x, y, c)), x and y first broadcast to one shape
ValueId compute_before_broadcast(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const ir::OpData op = f.op(id);  // a copy: the pool grows below
  const Type result = f.type(op.results[0]);
  if (!ir::info(op.kind).has(ir::kElementwise) || result.is_scalar()) return {};
  const auto shape = smaller_shape(f, id, result);
  if (!shape) return {};
  std::vector<ValueId> operands;
  for (ValueId v : op.operands) {
    if (const auto c = f.constant_bits(v)) {
      operands.push_back(rw.constant_bits(f.type(v).with_shape(*shape), *c));
    } else {
      operands.push_back(rw.broadcast(operand_of(f, v, OpKind::broadcast_), *shape));
    }
  }
  const Type small = result.with_shape(*shape);
  const OpId made = rw.create(op.kind, operands, op.attrs, std::span(&small, 1));
  return rw.broadcast(f.result(made), result.shape());
}

/// If the shapes differ only by extents of 1: for each axis of `to`, the same axis of `from`, or -1 for a new one.
std::optional<std::vector<int>> unit_axes_moved(Type from, Type to) {
  std::vector<int> axes(to.rank(), -1);
  int i = 0;
  const auto skip_units = [&] {
    while (i < from.rank() && from.log2_extent(i) == 0) ++i;
  };
  for (int d = 0; d < to.rank(); ++d) {
    if (to.log2_extent(d) == 0) continue;
    skip_units();
    if (i == from.rank() || from.log2_extent(i) != to.log2_extent(d)) return std::nullopt;
    axes[d] = i++;
  }
  skip_units();
  return i == from.rank() ? std::optional(axes) : std::nullopt;
}

ValueId fold_reshape(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const ValueId x = f.operand(id, 0);
  const Type from = f.type(x), to = f.type(f.result(id));
  if (from == to) return x;
  if (const auto c = f.constant_bits(x)) return rw.constant_bits(to, *c);
  if (from.is_scalar()) return rw.broadcast(x, to.shape());                                    // scalars have one form: broadcast
  if (const ValueId y = operand_of(f, x, OpKind::reshape_)) return rw.reshape(y, to.shape());  // reshape(reshape(x)) -> reshape(x)
  const ValueId y = operand_of(f, x, OpKind::broadcast_);
  if (!y) return {};
  if (f.type(y).is_scalar()) return rw.broadcast(y, to.shape());  // reshape(broadcast(scalar)) -> broadcast(scalar)
  // reshape(broadcast(x)) -> broadcast(reshape(x)) if the shapes differ by extents of 1 only
  const auto axes = unit_axes_moved(from, to);
  if (!axes) return {};
  Shape small(to.rank(), 1);
  for (int d = 0; d < to.rank(); ++d)
    if ((*axes)[d] >= 0) small[d] = f.type(y).extent((*axes)[d]);
  return rw.broadcast(rw.reshape(y, small), to.shape());
}

ValueId fold_broadcast(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const ValueId x = f.operand(id, 0);
  const Type to = f.type(f.result(id));
  if (f.type(x) == to) return x;
  if (const auto c = f.constant_bits(x)) return rw.constant_bits(to, *c);
  const ValueId y = operand_of(f, x, OpKind::broadcast_);
  return y ? rw.broadcast(y, to.shape()) : ValueId{};  // broadcast(broadcast(x)) -> broadcast(x)
}

ValueId fold_permute(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const ValueId x = f.operand(id, 0);
  const Type from = f.type(x), to = f.type(f.result(id));
  const Shape axes = f.attr_list(id, ir::AttrName::axes);
  if (const auto c = f.constant_bits(x)) return rw.constant_bits(to, *c);
  // Axes with more than one element keep their order, so the row-major order of the elements does not change.
  Shape moved;
  for (std::int64_t a : axes)
    if (from.log2_extent(static_cast<int>(a)) > 0) moved.push_back(a);
  if (std::is_sorted(moved.begin(), moved.end())) return rw.reshape(x, to.shape());
  if (const OpId inner = f.defined_by(x, OpKind::permute_)) {
    Shape both;  // axis i of the result is axis[i] of x and inner[axis[i]] of y
    for (std::int64_t a : axes) both.push_back(f.attr_list(inner, ir::AttrName::axes)[a]);
    return rw.permute(f.operand(inner, 0), both);
  }
  const ValueId y = operand_of(f, x, OpKind::broadcast_);
  if (!y) return {};
  // permute(broadcast(x)) -> broadcast(permute(x))
  return rw.broadcast(f.type(y).is_scalar() ? y : rw.permute(y, axes), to.shape());
}

/// The value of every element of v, as a tile or scalar of type `to`; none if elements may differ.
ValueId uniform_as(Rewriter& rw, ValueId v, Type to) {
  const Function& f = rw.ir();
  if (const auto c = f.constant_bits(v)) return rw.constant_bits(to, *c);
  const ValueId scalar = operand_of(f, v, OpKind::broadcast_);
  return scalar && f.type(scalar).is_scalar() ? rw.broadcast(scalar, to.shape()) : ValueId{};
}

ValueId fold_flip(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const ValueId x = f.operand(id, 0);
  const std::int64_t axis = f.attr(id, ir::AttrName::axis);
  if (f.type(x).log2_extent(static_cast<int>(axis)) == 0 || f.constant_bits(x)) return x;
  // flip(broadcast(x)) -> broadcast(x) if x has an extent of 1 along the axis
  if (const ValueId y = operand_of(f, x, OpKind::broadcast_))
    if (f.type(y).is_scalar() || f.type(y).log2_extent(static_cast<int>(axis)) == 0) return x;
  const OpId inner = f.defined_by(x, OpKind::flip_);
  return inner && f.attr(inner, ir::AttrName::axis) == axis ? f.operand(inner, 0) : ValueId{};  // flip(flip(x)) -> x
}

// cat(s, s) and join(s, s) -> a broadcast, if every element of s is the same; join(split(x)) -> x
ValueId fold_pair(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const ValueId a = f.operand(id, 0), b = f.operand(id, 1);
  const Type to = f.type(f.result(id));
  if (a == b || (f.constant_bits(a) && f.constant_bits(a) == f.constant_bits(b))) return uniform_as(rw, a, to);
  const OpId halves = f.kind(id) == OpKind::join_ ? f.defined_by(a, OpKind::split_) : OpId{};
  return halves && f.result(halves, 0) == a && f.result(halves, 1) == b ? f.operand(halves, 0) : ValueId{};
}

}  // namespace

bool fold_split(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const ValueId x = f.operand(id, 0);
  if (const OpId pair = f.defined_by(x, OpKind::join_)) {  // split(join(a, b)) -> a, b
    rw.replace(id, std::vector<ValueId>(f.op(pair).operands));
    return true;
  }
  const ValueId half = uniform_as(rw, x, f.type(f.result(id)));
  if (!half) return false;
  rw.replace(id, std::vector<ValueId>(2, half));
  return true;
}

bool fold_sort(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const Type keys = f.type(f.operand(id, 0));
  if (keys.log2_extent(keys.rank() - 1) > 0) return false;
  rw.replace(id, std::vector<ValueId>(f.op(id).operands));  // rows of one element: sort(x) -> x
  return true;
}

ValueId fold_shape(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  switch (f.kind(id)) {
    case OpKind::reshape_: return fold_reshape(rw, id);
    case OpKind::broadcast_: return fold_broadcast(rw, id);
    case OpKind::permute_: return fold_permute(rw, id);
    case OpKind::flip_: return fold_flip(rw, id);
    case OpKind::join_:
    case OpKind::cat_: return fold_pair(rw, id);
    case OpKind::arange_: {  // one element: lo
      const Type t = f.type(f.result(id));
      return t.elements() == 1 ? rw.constant(t, f.attr(id, ir::AttrName::lo)) : ValueId{};
    }
    default: {
      const ir::OpInfo& info = ir::info(f.kind(id));
      // gather(x, i) -> x's element, if all elements of x are equal
      if (info.family == Family::index && info.has(ir::kKeepsElements)) return uniform_as(rw, f.operand(id, 0), f.type(f.result(id)));
      return compute_before_broadcast(rw, id);
    }
  }
}

}  // namespace tilewright::passes::canonical
