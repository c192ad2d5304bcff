// Emits what a bulk copy or store of a box needs: its map, and its coordinates.
#include <algorithm>
#include <bit>

#include "passes/pipeline/launch_bounds.h"
#include "passes/pipeline/tensor_box.h"
#include "tileir/layout/canonical_buffer.h"
#include "tileir/op_kind.h"
#include "tileir/slices.h"

namespace tilewright::passes {

namespace {

constexpr std::int64_t kMostStrideBytes = (std::int64_t{1} << 40) - 16;
constexpr std::int64_t kNowhere = 1 << 20;  // a coordinate outside of a tensor of one element

/// Emits a polynomial in arithmetic of this element type.
ValueId emit(Rewriter& rw, const Polynomial& p, ir::Element e) {
  const Function& f = rw.ir();
  ValueId sum;
  for (const auto& [m, factor] : p.terms()) {
    ValueId product;
    for (const Atom& a : m) {
      const ValueId v = f.type(a.value()).element() == e ? a.value() : rw.cast(a.value(), e);
      product = product ? rw.binary(OpKind::mul_, product, v) : v;
    }
    const ValueId by = factor != 1 || !product ? rw.constant(ir::Type(e), factor) : ValueId{};
    if (by) product = product ? rw.binary(OpKind::mul_, product, by) : by;
    sum = sum ? rw.binary(OpKind::add_, sum, product) : product;
  }
  return sum ? sum : rw.constant(ir::Type(e), 0);
}

/// The least extent of an axis in units, at least 1.
ValueId extent_of(Rewriter& rw, const TensorBox::Axis& a) {
  const ir::Type wide(ir::Element::i64);
  ValueId least;
  for (const Polynomial& p : a.extents) {
    const ValueId e = emit(rw, p, ir::Element::i64);
    least = least ? rw.binary(OpKind::minimum_, least, e) : e;
  }
  if (!least) return rw.constant(wide, kMostCoordinate / a.unit);
  if (a.may_be_empty) least = rw.binary(OpKind::maximum_, least, rw.constant(wide, a.unit));
  return a.unit == 1 ? least : rw.binary(OpKind::div_, least, rw.constant(wide, a.unit));
}

/// Whether the axis has elements; none: it always has.
ValueId has_elements(Rewriter& rw, const TensorBox::Axis& a) {
  if (!a.may_be_empty) return {};
  ValueId all;
  for (const Polynomial& p : a.extents) {
    const ValueId has = rw.binary(OpKind::ge_, emit(rw, p, ir::Element::i64), rw.constant(ir::Type(ir::Element::i64), 1));
    all = all ? rw.binary(OpKind::bit_and_, all, has) : has;
  }
  return all;
}

/// The coordinate of a position: in units, with 32 bits.
ValueId coordinate_of(Rewriter& rw, const TensorBox::Axis& a, ValueId v) {
  if (a.unit > 1)
    return rw.binary(OpKind::shr_, v, rw.constant(ir::Type(ir::Element::i32), std::countr_zero(static_cast<unsigned>(a.unit))));
  if (!a.is_wide) return v;
  const ir::Type wide(ir::Element::i64);
  // No tensor has an element at this position.
  v = rw.binary(OpKind::minimum_, v, rw.constant(wide, kMostCoordinate));
  // A box that ends before position 0 has no elements, however far away it is.
  if (a.has_lower_bound) v = rw.binary(OpKind::maximum_, v, rw.constant(wide, -ir::kMaxBoxExtent));
  return rw.cast(v, ir::Element::i32);
}

}  // namespace

ValueId make_tensor_map(Rewriter& rw, OpId at, const TensorBox& box, ir::Element element) {
  const Function& f = rw.ir();
  OpId top = at;
  while (f.op(top).parent != f.body()) top = ir::parent_op(f, top);
  rw.at(top);
  ValueId base = box.base;
  if (!box.offset.is_zero()) base = rw.add_ptr(base, emit(rw, box.offset, ir::Element::i64));
  std::vector<ValueId> operands{base};
  std::vector<std::int64_t> extents;
  for (const TensorBox::Axis& a : box.axes) operands.push_back(extent_of(rw, a)), extents.push_back(a.box);
  for (std::size_t i = 0; i + 1 < box.axes.size(); ++i) {
    const ValueId stride = emit(rw, box.axes[i].stride, ir::Element::i64);
    const ValueId most = rw.constant(ir::Type(ir::Element::i64), kMostStrideBytes / ir::bytes(element));
    // Only one row of a tensor with longer distances fits into memory.
    operands.push_back(box.axes[i].stride.constant() ? stride : rw.binary(OpKind::minimum_, stride, most));
  }
  LaunchBounds bounds(rw);
  for (ValueId d : box.divisors) operands.push_back(*bounds.least(d));
  const ir::Type type = ir::Type::tensor_map(element, extents);
  return f.result(rw.create(OpKind::make_tensor_map_, operands, {{AttrName::swizzle, box.slab_bytes, {}, {}}}, std::span(&type, 1)));
}

std::vector<ValueId> make_coordinates(Rewriter& rw, OpId loop, OpId before, const TensorBox& box) {
  const Function& f = rw.ir();
  const auto varies = [&](const Monomial& m) {
    return before != loop && std::ranges::any_of(m, [&](const Atom& a) { return f.encloses(f.region(loop), f.defining_block(a.value())); });
  };
  std::vector<ValueId> all;
  for (const TensorBox::Axis& a : box.axes) {
    Polynomial fixed, varying;
    for (const auto& [m, factor] : a.coordinate.terms()) (varies(m) ? varying : fixed).add(factor, m);
    const ir::Element e = a.is_wide ? ir::Element::i64 : ir::Element::i32;
    rw.at(loop);
    const ValueId exists = has_elements(rw, a);
    ValueId at = emit(rw, fixed, e);
    if (varying.is_zero()) at = coordinate_of(rw, a, at);
    const auto where_it_exists = [&](ValueId v) {
      return exists ? rw.select(exists, v, rw.constant(ir::Type(ir::Element::i32), kNowhere)) : v;
    };
    if (varying.is_zero()) {
      all.push_back(where_it_exists(at));
      continue;
    }
    rw.at(before);
    const ValueId moving = emit(rw, varying, e);
    at = fixed.is_zero() ? moving : rw.binary(OpKind::add_, at, moving);
    all.push_back(where_it_exists(coordinate_of(rw, a, at)));
  }
  rw.at(before);
  return all;
}

}  // namespace tilewright::passes
