// Proves that a load reads a box.
//
//   1. offsets: the address as a polynomial of the positions i, j in the tile: it must be linear in them, with a stride of 1 along one axis.
//   2. coordinates: the rest of the polynomial is divided among the axes. A term that is a multiple of a stride belongs to this axis, with the
//      longest product first; the others to the last axis.
//   3. extents: each comparison of the mask must bound one position: c + i < extent. What of the extent the host cannot compute, such as the
//      rows of the sequences before this one, moves to a further axis, which no mask bounds.
//   4. limits: of the hardware and of the driver.
#include "passes/pipeline/tensor_box.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>

#include "passes/analysis/address_form.h"
#include "tileir/launch_values.h"
#include "tileir/layout/canonical_buffer.h"
#include "tileir/op_kind.h"
#include "tileir/slices.h"

namespace tilewright::passes {

namespace {

constexpr int kMostAxes = 5, kLeastBytes = 16;
constexpr std::int64_t kMostCoordinate = INT32_MAX;
constexpr std::int64_t kMostStrideBytes = (std::int64_t{1} << 40) - kLeastBytes;

constexpr std::int64_t kNowhere = 1 << 20;  // a coordinate outside of a tensor of one element

/// m / by, if it is a product.
std::optional<Monomial> quotient(const Monomial& m, const Monomial& by) {
  if (!std::ranges::includes(m, by)) return std::nullopt;
  Monomial q;
  std::ranges::set_difference(m, by, std::back_inserter(q));
  return q;
}

class BoxFinder {
 public:
  BoxFinder(const Function& f, OpId loop, OpId load, const AxisInfoAnalysis& info)
      : f_(f), loop_(loop), load_(load), info_(info), reader_(f, loop), bytes_(f.type(f.result(load)).element_bytes()) {}

  std::variant<TensorBox, std::string> run(const ir::LinearLayout& buffer) {
    std::string why = find_offsets(buffer);
    if (why.empty()) why = divide();
    if (why.empty()) why = find_extents();
    if (why.empty()) why = check_limits();
    if (!why.empty()) return why;
    return std::move(box_);
  }

 private:
  using Axis = TensorBox::Axis;

  /// Whether the host can compute the atom, and it is defined where the map is made.
  bool is_launch(const Atom& a) const {
    if (a.is_axis()) return false;
    const OpId id = f_.value(a.value()).op;
    return (!id || f_.op(id).parent == f_.body()) && ir::why_not_at_launch(f_, a.value()).empty();
  }
  bool is_launch(const Monomial& m) const {
    return std::ranges::all_of(m, [&](const Atom& a) { return is_launch(a); });
  }
  bool is_launch(const Polynomial& p) const {
    return std::ranges::all_of(p.terms(), [&](const auto& term) { return is_launch(term.first); });
  }

  // ---- 1 ----

  std::string find_offsets(const ir::LinearLayout& buffer) {
    const ValueId pointer = f_.operand(load_, 0);
    const ir::Type tile = f_.type(pointer);
    if (tile.rank() != 2) return "a factor of a product has 2 axes";
    const auto read = reader_.read_pointer(pointer, {0, 1});
    if (!read) return "its addresses are no sums of products";
    box_.base = read->base;
    std::array<Polynomial, 2> strides;
    for (const auto& [m, factor] : read->offset.terms()) {
      Monomial rest;
      std::vector<int> axes;
      for (const Atom& a : m) a.is_axis() ? axes.push_back(a.axis()) : rest.push_back(a);
      if (axes.size() > 1) return "its addresses are not linear";
      (axes.empty() ? uniform_ : strides[static_cast<std::size_t>(axes[0])]).add(factor, rest);
    }
    const auto found = ir::copy_boxes(buffer, bytes_);
    if (const auto* no = std::get_if<ir::NotCanonical>(&found)) return no->reason;
    const auto& c = std::get<ir::CopyBoxes>(found);
    if (strides[static_cast<std::size_t>(c.inner)] != Polynomial(1)) return "neighbours in its buffer are none in memory";
    box_.is_turned = c.inner == 0;
    box_.slab_bytes = c.slab_bytes;
    for (const int axis : {1 - c.inner, c.inner}) {
      tile_axes_.push_back(axis);
      const auto i = static_cast<std::size_t>(axis);
      if (!is_launch(strides[i])) return "the distance of its rows changes";
      box_.axes.push_back({.coordinate = {}, .extents = {}, .stride = strides[i], .box = c.extents[i]});
    }
    return {};
  }

  // ---- 2 ----

  std::string divide() {
    Axis &rows = box_.axes[0], &last = box_.axes[1];
    if (rows.stride.terms().size() != 1) return "the distance of its rows is no product";
    const auto& [by, divisor] = *rows.stride.terms().begin();
    for (const auto& [m, factor] : uniform_.terms()) {
      const auto q = quotient(m, by);
      if (q && factor % divisor == 0)
        rows.coordinate.add(factor / divisor, *q);
      else
        last.coordinate.add(factor, m);
    }
    return {};
  }

  // ---- 3 ----

  std::string find_extents() {
    const auto& operands = f_.op(load_).operands;
    if (operands.size() > 2 && f_.constant_bits(operands[2]) != std::uint64_t{0}) return "what its mask leaves out is not 0";
    if (operands.size() > 1) {
      const auto bounds = reader_.read_mask(operands[1], {0, 1});
      if (!bounds) return "its mask is no conjunction of comparisons";
      for (const Polynomial& b : *bounds)
        if (std::string why = add_bound(b); !why.empty()) return why;
    }
    for (Axis& a : box_.axes) {
      a.is_wide = !is_narrow(a.coordinate);
      if (a.extents.empty() && a.is_wide) return "a position in the tensor may be above 2^31";
      if (!a.has_lower_bound && !is_not_negative(a.coordinate)) return "a position in the tensor may be negative";
      a.may_be_empty = std::ranges::any_of(a.extents, [&](const Polynomial& e) { return interval(e).lo < 1; });
    }
    return {};
  }

  /// below < 0: a bound of an axis from above; from below, where the copy gives 0 as well; or always true.
  std::string add_bound(const Polynomial& below) {
    if (const auto c = below.constant()) return *c < 0 ? "" : "its mask may be false everywhere";
    for (std::size_t i = 0; i < tile_axes_.size(); ++i) {
      const std::size_t at = box_.axes.size() - tile_axes_.size() + i;
      const Polynomial position = box_.axes[at].coordinate + Polynomial(Atom::axis(tile_axes_[i]));
      const auto factor = below.terms().find({Atom::axis(tile_axes_[i])});
      if (factor == below.terms().end()) continue;
      if (factor->second == -1) {
        // 0 <= position
        if (below != Polynomial(-1) - position) return "its mask is no bound of the tensor";
        box_.axes[at].has_lower_bound = true;
        return {};
      }
      const Polynomial extent = position - below;
      return factor->second == 1 ? add_extent(at, extent) : "its mask is no bound of the tensor";
    }
    return "its mask is no bound of the tensor";
  }

  /// What of an extent the host does not know moves, with its negative, from the coordinate to further axes.
  std::string add_extent(std::size_t axis, Polynomial extent) {
    const Polynomial whole = extent;
    for (const auto& [m, factor] : whole.terms()) {
      if (is_launch(m)) continue;
      Monomial known, varying;
      for (const Atom& a : m) (is_launch(a) ? known : varying).push_back(a);
      if (std::ranges::any_of(varying, [](const Atom& a) { return a.is_axis(); })) return "its mask is no bound of the tensor";
      if (factor < 0 || box_.axes.size() == kMostAxes || !box_.axes[axis].extents.empty() || box_.axes[axis].has_lower_bound)
        return "the host cannot compute the bound of its mask";
      Polynomial part, step, index;
      part.add(factor, m), step.add(factor, known), index.add(1, varying);
      extent = extent - part;
      box_.axes[axis].coordinate = box_.axes[axis].coordinate - part;
      box_.axes.insert(box_.axes.begin(), {.coordinate = index, .extents = {}, .stride = step * box_.axes[axis].stride, .box = 1});
      ++axis;
    }
    const Interval range = interval(extent);
    if (range.hi > kMostCoordinate) return "a position in the tensor may be above 2^31";
    box_.axes[axis].extents.push_back(extent);
    return {};
  }

  // ---- 4 ----

  struct Interval {
    Wide lo = 0, hi = 0;
  };
  Interval interval(const Atom& a) const {
    const ValueId v = a.value();
    const ir::ValueData& d = f_.value(v);
    Range r = info_.knows(v) ? info_.range(v) : full_range(f_.type(v));
    if (!d.op && d.block == f_.body() && f_.params[d.number].positive) {
      r.lo = std::max<Wide>(r.lo, 1);
      r.hi = std::min<Wide>(r.hi, kMostCoordinate);
    }
    return {r.lo, r.hi};
  }
  Interval interval(const Polynomial& p) const {
    constexpr Wide kMost = Wide{1} << 100;
    Interval sum;
    for (const auto& [m, factor] : p.terms()) {
      Interval product{factor, factor};
      for (const Atom& a : m) {
        const Interval x = interval(a);
        if (product.lo < -kMost / INT32_MAX || product.hi > kMost / INT32_MAX) return {-kMost, kMost};
        const Wide ends[] = {product.lo * x.lo, product.lo * x.hi, product.hi * x.lo, product.hi * x.hi};
        product = {*std::ranges::min_element(ends), *std::ranges::max_element(ends)};
      }
      sum.lo += product.lo, sum.hi += product.hi;
    }
    return sum;
  }

  bool is_not_negative(const Polynomial& p) const {
    if (interval(p).lo >= 0) return true;
    return std::ranges::all_of(p.terms(), [&](const auto& term) {
      return term.second > 0 && std::ranges::all_of(term.first, [&](const Atom& a) { return is_not_negative(a.value()); });
    });
  }
  bool is_not_negative(ValueId v) const {
    if (interval(Atom::value(v)).lo >= 0) return true;
    const OpId id = f_.value(v).op;
    if (!id) {
      const BlockId body = f_.region(loop_);
      return v == f_.arg(body, 0) && is_not_negative(f_.operand(loop_, 0));
    }
    const auto& operands = f_.op(id).operands;
    const ir::Type to = f_.type(v);
    switch (f_.kind(id)) {
      case OpKind::cast_: {
        const ir::Type from = f_.type(operands[0]);
        if (!from.is_integer()) return false;
        const bool keeps_value = ir::is_signed(from.element()) ? ir::bits(from.element()) <= ir::bits(to.element())
                                                               : ir::bits(from.element()) < ir::bits(to.element());
        return keeps_value && is_not_negative(operands[0]);
      }
      case OpKind::div_:  // by a positive number: see find_tensor_box
      case OpKind::rem_:
      case OpKind::shr_: return is_not_negative(operands[0]);
      case OpKind::maximum_: return is_not_negative(operands[0]) || is_not_negative(operands[1]);
      case OpKind::add_:
      case OpKind::mul_:
        // Index arithmetic does not wrap from 32 bits on.
        if (ir::bits(to.element()) < 32) return false;
        [[fallthrough]];
      case OpKind::minimum_: return is_not_negative(operands[0]) && is_not_negative(operands[1]);
      default: return false;
    }
  }

  /// Whether the value has 32 bits: index arithmetic of 32 bits does not wrap.
  bool is_narrow(const Polynomial& p) const {
    const Interval range = interval(p);
    if (range.lo >= INT32_MIN && range.hi <= kMostCoordinate - ir::kMaxBoxExtent) return true;
    return std::ranges::all_of(p.terms(), [&](const auto& term) { return term.second >= 0 && reader_.is_narrow(term.first); });
  }

  std::int64_t divisor(const Polynomial& p) const {
    std::int64_t common = 0;
    for (const auto& [m, factor] : p.terms()) {
      std::int64_t d = factor & -factor;
      for (const Atom& a : m) d = std::min<std::int64_t>(d * std::min<std::int64_t>(divisor(a), kLeastBytes), kLeastBytes);
      common = common == 0 ? d : std::min(common, d);
    }
    return common;
  }
  std::int64_t divisor(const Atom& a) const { return info_.knows(a.value()) ? info_(a.value()).scalar_divisibility : 1; }

  bool may_be_written() const {
    bool found = false;
    f_.walk([&](OpId id) {
      if (!ir::info(f_.kind(id)).has(ir::kWrites)) return;
      found = found || may_share_memory(f_, box_.base, base_parameter(f_, f_.operand(id, 0)));
    });
    return found;
  }

  std::string check_limits() {
    if (info_(box_.base).scalar_divisibility % kLeastBytes != 0) return "the tensor may begin at an address that is no multiple of 16";
    if (may_be_written()) return "the kernel writes memory that may be the tensor's";
    for (std::size_t i = 0; i + 1 < box_.axes.size(); ++i) {
      const Axis& a = box_.axes[i];
      if (divisor(a.stride) * bytes_ % kLeastBytes != 0) return "the distance of its rows may be no multiple of 16 bytes";
      const Interval range = interval(a.stride);
      if (range.lo < 1) return "the distance of its rows may not be positive";
      if (range.hi > INT64_MAX / bytes_) return "the distance of its rows may be above 2^40 bytes";
    }
    return {};
  }

  const Function& f_;
  const OpId loop_, load_;
  const AxisInfoAnalysis& info_;
  PolynomialReader reader_;
  const int bytes_;
  Polynomial uniform_;          // the address without positions in the tile
  std::vector<int> tile_axes_;  // of the last axes of the box
  TensorBox box_;
};

}  // namespace

std::variant<TensorBox, std::string> find_tensor_box(const Function& f, OpId loop, OpId load, const ir::LinearLayout& buffer,
                                                     const AxisInfoAnalysis& info) {
  return BoxFinder(f, loop, load, info).run(buffer);
}

namespace {

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

/// The least extent of an axis, at least 1.
ValueId extent_of(Rewriter& rw, const TensorBox::Axis& a) {
  const ir::Type wide(ir::Element::i64);
  ValueId least;
  for (const Polynomial& p : a.extents) {
    const ValueId e = emit(rw, p, ir::Element::i64);
    least = least ? rw.binary(OpKind::minimum_, least, e) : e;
  }
  if (!least) return rw.constant(wide, kMostCoordinate);
  return a.may_be_empty ? rw.binary(OpKind::maximum_, least, rw.constant(wide, 1)) : least;
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

ValueId narrowed(Rewriter& rw, const TensorBox::Axis& a, ValueId v) {
  if (!a.is_wide) return v;
  const ValueId most = rw.constant(ir::Type(ir::Element::i64), kMostCoordinate - ir::kMaxBoxExtent);
  return rw.cast(rw.binary(OpKind::minimum_, v, most), ir::Element::i32);
}

}  // namespace

ValueId make_tensor_map(Rewriter& rw, OpId loop, const TensorBox& box, ir::Element element) {
  const Function& f = rw.ir();
  OpId top = loop;
  while (f.op(top).parent != f.body()) top = ir::parent_op(f, top);
  rw.at(top);
  std::vector<ValueId> operands{box.base};
  std::vector<std::int64_t> extents;
  for (const TensorBox::Axis& a : box.axes) operands.push_back(extent_of(rw, a)), extents.push_back(a.box);
  for (std::size_t i = 0; i + 1 < box.axes.size(); ++i) {
    const ValueId stride = emit(rw, box.axes[i].stride, ir::Element::i64);
    const ValueId most = rw.constant(ir::Type(ir::Element::i64), kMostStrideBytes / ir::bytes(element));
    // Only one row of a tensor with longer distances fits into memory.
    operands.push_back(box.axes[i].stride.constant() ? stride : rw.binary(OpKind::minimum_, stride, most));
  }
  const ir::Type type = ir::Type::tensor_map(element, extents);
  return f.result(rw.create(OpKind::make_tensor_map_, operands, {{AttrName::swizzle, box.slab_bytes, {}, {}}}, std::span(&type, 1)));
}

std::vector<ValueId> make_coordinates(Rewriter& rw, OpId loop, OpId before, const TensorBox& box) {
  const Function& f = rw.ir();
  const auto varies = [&](const Monomial& m) {
    return std::ranges::any_of(m, [&](const Atom& a) { return f.encloses(f.region(loop), f.defining_block(a.value())); });
  };
  std::vector<ValueId> all;
  for (const TensorBox::Axis& a : box.axes) {
    Polynomial fixed, varying;
    for (const auto& [m, factor] : a.coordinate.terms()) (varies(m) ? varying : fixed).add(factor, m);
    const ir::Element e = a.is_wide ? ir::Element::i64 : ir::Element::i32;
    rw.at(loop);
    const ValueId exists = has_elements(rw, a);
    ValueId at = emit(rw, fixed, e);
    if (varying.is_zero()) at = narrowed(rw, a, at);
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
    all.push_back(where_it_exists(narrowed(rw, a, at)));
  }
  rw.at(before);
  return all;
}

}  // namespace tilewright::passes
