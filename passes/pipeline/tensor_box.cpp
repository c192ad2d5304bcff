// Proves that a load reads a box, or a store writes one.
//
//   1. offsets: the address as a polynomial of the positions i, j in the tile: it must be linear in them, with a stride of 1 along one axis.
//   2. coordinates: the mask says which part of the address is a position along an axis that it bounds: the terms of its comparisons that the
//      host does not know. Of an axis that no mask bounds, these are the multiples of its stride. Other terms that change, such as those of a
//      batch or a head, become further axes, which no mask bounds; what the host knows, such as the place of a view in its memory, is added to
//      the positions along the rows or the last axis.
//   3. extents: each comparison of the mask must bound one position: c + i < extent, or 0 <= c + i. The host must be able to compute the extent.
//      A comparison with 0 moves the address of the tensor to that position, if the position may be negative.
//   4. limits: of the hardware and of the driver, and of the divisors in positions (passes/pipeline/launch_bounds.h).
//   5. join_slabs: if the tensor has whole slabs along its last axis, one copy writes all slabs of a slot. Else each has a copy of its own, since
//      behind the end of a row the elements are 0, and not those of the next row.
#include "passes/pipeline/tensor_box.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "passes/analysis/address_form.h"
#include "passes/pipeline/launch_bounds.h"
#include "passes/pipeline/position_facts.h"
#include "tileir/launch_values.h"
#include "tileir/layout/canonical_buffer.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

constexpr int kMostAxes = 5, kLeastBytes = 16;

/// m / by, if it is a product.
std::optional<Monomial> quotient(const Monomial& m, const Monomial& by) {
  if (!std::ranges::includes(m, by)) return std::nullopt;
  Monomial q;
  std::ranges::set_difference(m, by, std::back_inserter(q));
  return q;
}

class BoxFinder {
 public:
  BoxFinder(const Function& f, OpId loop, OpId access, const AxisInfoAnalysis& info)
      : f_(f),
        loop_(loop),
        access_(access),
        info_(info),
        facts_(f, loop, info),
        reader_(f, loop),
        bytes_(f.type(f.operand(access, 0)).pointee().element_bytes()) {}

  std::variant<TensorBox, std::string> run(const ir::LinearLayout& buffer) {
    std::string why = find_offsets(buffer);
    if (why.empty()) why = read_bounds();
    if (why.empty()) why = divide();
    if (why.empty()) why = find_extents();
    if (why.empty()) why = check_limits();
    if (why.empty()) why = check_divisors();
    if (!why.empty()) return why;
    if (is_load()) join_slabs(std::get<ir::CopyBoxes>(ir::copy_boxes(buffer, bytes_)));
    return std::move(box_);
  }

 private:
  using Axis = TensorBox::Axis;

  bool is_load() const { return f_.kind(access_) == OpKind::load_; }

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
    const ValueId pointer = f_.operand(access_, 0);
    const ir::Type tile = f_.type(pointer);
    if (tile.rank() != 2) return is_load() ? "a factor of a product has 2 axes" : "it has no 2 axes";
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
    if (strides[static_cast<std::size_t>(c.inner)] != Polynomial(1)) return kNoNeighbours;
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

  /// A comparison of the mask, of position i along one axis of the tile: i + rest < 0 or, from below, i + rest >= 0.
  struct Bound {
    Polynomial rest;
    bool is_below = false;
  };

  /// Sorts the comparisons of the mask by the axes of the tile.
  std::string read_bounds() {
    const auto& operands = f_.op(access_).operands;
    if (is_load() && operands.size() > 2 && f_.constant_bits(operands[2]) != std::uint64_t{0}) return "what its mask leaves out is not 0";
    const ValueId masked_by = ir::mask_of(f_, access_);
    if (!masked_by) return {};
    const auto mask = reader_.read_mask(masked_by, {0, 1});
    if (!mask) return "its mask is no conjunction of comparisons";
    for (const Polynomial& p : *mask) {
      if (const auto c = p.constant()) {
        if (*c < 0) continue;
        return "its mask may be false everywhere";
      }
      std::size_t found = tile_axes_.size();
      for (std::size_t i = 0; i < tile_axes_.size(); ++i)
        if (p.terms().contains({Atom::axis(tile_axes_[i])})) found = i;
      if (found == tile_axes_.size()) return "its mask is no bound of the tensor";
      const Polynomial position(Atom::axis(tile_axes_[found]));
      const bool is_below = p.terms().at({Atom::axis(tile_axes_[found])}) < 0;
      Bound b{is_below ? Polynomial(-1) - p - position : p - position, is_below};
      const bool has_axes = std::ranges::any_of(
          b.rest.terms(), [](const auto& term) { return std::ranges::any_of(term.first, [](const Atom& a) { return a.is_axis(); }); });
      if (has_axes) return "its mask is no bound of the tensor";
      bounds_[found].push_back(std::move(b));
    }
    return {};
  }

  Polynomial varying(const Polynomial& p) const {
    Polynomial v;
    for (const auto& [m, factor] : p.terms())
      if (!is_launch(m)) v.add(factor, m);
    return v;
  }

  /// Along an axis that is bounded, the mask says which part of the address is a position: that of its comparisons which the host does not
  /// know. Products of the stride of the other axis are positions along it; what is left is of further axes, or a position along the last
  /// one.
  std::string divide() {
    for (std::size_t i = 0; i < bounds_.size(); ++i) {
      if (bounds_[i].empty()) continue;
      box_.axes[i].coordinate = varying(bounds_[i].front().rest);
      uniform_ = uniform_ - box_.axes[i].coordinate * box_.axes[i].stride;
      if (uniform_.is_lost()) return "its addresses have too many terms";
    }
    Axis &rows = box_.axes[0], &last = box_.axes[1];
    if (rows.stride.terms().size() != 1) return "the distance of its rows is no product";
    const auto& [by, divisor] = *rows.stride.terms().begin();
    std::vector<Axis> further;
    for (const auto& [m, factor] : uniform_.terms()) {
      const auto q = quotient(m, by);
      const bool is_of_rows = q && factor % divisor == 0;
      Monomial known, index;
      for (const Atom& a : m) (is_launch(a) ? known : index).push_back(a);
      if (is_of_rows && (index.empty() || bounds_[0].empty())) {
        rows.coordinate.add(factor / divisor, *q);
      } else if (index.empty() || (bounds_[1].empty() && known.empty())) {
        last.coordinate.add(factor, m);
      } else {
        if (factor < 0) return "the host cannot compute the bound of its mask";
        Axis a;
        a.coordinate.add(1, index), a.stride.add(factor, known);
        further.push_back(std::move(a));
      }
    }
    if (box_.axes.size() + further.size() > kMostAxes) return fmt::format("its tensor has more than {} axes", kMostAxes);
    box_.axes.insert(box_.axes.begin(), further.begin(), further.end());
    return {};
  }

  // ---- 3 ----

  std::string find_extents() {
    for (std::size_t i = 0; i < bounds_.size(); ++i)
      if (std::string why = bound_axis(box_.axes[box_.axes.size() - bounds_.size() + i], bounds_[i]); !why.empty()) return why;
    for (Axis& a : box_.axes) {
      if (!is_in_range(a)) move_origin(a);
      a.is_wide = !is_narrow(a.coordinate);
      if ((a.extents.empty() && a.is_wide) || !has_small_extents(a)) return "a position in the tensor may be above 2^31";
      if (!a.has_lower_bound && !facts_.is_not_negative(a.coordinate)) return "a position in the tensor may be negative";
      a.may_be_empty = std::ranges::any_of(a.extents, [&](const Polynomial& e) { return facts_.interval(e).lo < 1; });
    }
    return {};
  }

  std::string bound_axis(Axis& axis, const std::vector<Bound>& bounds) {
    // Of the lower bound the tensor begins at position 0.
    for (const Bound& b : bounds) {
      if (!b.is_below) continue;
      const Polynomial before = axis.coordinate - b.rest;
      // Positions in a tile are not negative: the comparison is always true.
      if (!before.is_zero() && facts_.is_not_negative(b.rest)) continue;
      if (!is_launch(before) || (axis.has_lower_bound && !before.is_zero())) return "its mask is no bound of the tensor";
      axis.coordinate = b.rest;
      box_.offset = box_.offset + before * axis.stride;
      axis.has_lower_bound = true;
    }
    for (const Bound& b : bounds) {
      if (b.is_below) continue;
      const Polynomial extent = axis.coordinate - b.rest;
      if (!is_launch(extent)) return "the host cannot compute the bound of its mask";
      axis.extents.push_back(extent);
    }
    return {};
  }

  bool is_in_range(const Axis& a) const {
    return (a.has_lower_bound || facts_.is_not_negative(a.coordinate)) && (!a.extents.empty() || is_narrow(a.coordinate)) &&
           has_small_extents(a);
  }
  bool has_small_extents(const Axis& a) const {
    return std::ranges::all_of(a.extents, [&](const Polynomial& e) { return facts_.interval(e).hi <= kMostCoordinate; });
  }

  /// The tensor begins where the position has the part that the host knows.
  void move_origin(Axis& a) {
    const Polynomial known = a.coordinate - varying(a.coordinate);
    if (known.is_zero() || a.has_lower_bound) return;
    a.coordinate = a.coordinate - known;
    for (Polynomial& e : a.extents) e = e - known;
    box_.offset = box_.offset + known * a.stride;
  }

  /// Whether the value has 32 bits: index arithmetic of 32 bits does not wrap.
  bool is_narrow(const Polynomial& p) const {
    const PositionFacts::Interval range = facts_.interval(p);
    if (range.lo >= INT32_MIN && range.hi <= kMostCoordinate - ir::kMaxBoxExtent) return true;
    return reader_.is_narrow(p);
  }

  // ---- 4 ----

  bool may_be_written() const {
    bool found = false;
    f_.walk([&](OpId id) {
      if (!ir::info(f_.kind(id)).has(ir::kWrites)) return;
      found = found || may_share_memory(f_, box_.base, base_parameter(f_, f_.operand(id, 0)));
    });
    return found;
  }

  /// Whether an op before the end of the loop may order what other programs write before the program's reads. Bulk copies are not ordered
  /// behind it: the unit reads by a proxy of its own (PTX ISA, 8.6), and another warp may start them.
  bool may_acquire() const {
    bool found = false, has_begun = false;
    f_.walk([&](OpId id) {
      has_begun = has_begun || id == loop_;
      if (has_begun && id != loop_ && !f_.encloses(f_.region(loop_), f_.op(id).parent)) return;
      if (ir::info(f_.kind(id)).family == ir::Family::atomic) {
        const auto order = static_cast<ir::Order>(f_.attr(id, AttrName::order));
        found = found || order == ir::Order::acq_rel || order == ir::Order::acquire;
      }
      found = found || (f_.kind(id) == OpKind::load_ && f_.attr(id, AttrName::is_volatile) != 0);
    });
    return found;
  }

  std::string check_limits() {
    const bool is_moved = !box_.offset.is_zero() && facts_.divisor(box_.offset) * bytes_ % kLeastBytes != 0;
    if (is_moved || info_(box_.base).scalar_divisibility % kLeastBytes != 0)
      return "the tensor may begin at an address that is no multiple of 16";
    if (is_load() && may_acquire())
      return "an atomic or volatile access before it may wait for what other programs write; a relaxed atomic does not";
    if (is_load() && may_be_written()) return "the kernel writes memory that may be the tensor's";
    for (std::size_t i = 0; i + 1 < box_.axes.size(); ++i) {
      const Axis& a = box_.axes[i];
      if (facts_.divisor(a.stride) * bytes_ % kLeastBytes != 0) return "the distance of its rows may be no multiple of 16 bytes";
      const PositionFacts::Interval range = facts_.interval(a.stride);
      if (range.lo < 1) return "the distance of its rows may not be positive";
      if (range.hi > INT64_MAX / bytes_) return "the distance of its rows may be above 2^40 bytes";
    }
    return {};
  }

  std::string check_divisors() {
    LaunchBounds bounds(f_, facts_);
    // The bound of one may rest on others.
    for (std::size_t i = 0; i < facts_.taken_as_positive().size(); ++i)
      if (!bounds.least(facts_.taken_as_positive()[i])) return "a position in the tensor is divided by a number that may be negative";
    box_.divisors = facts_.taken_as_positive();
    return {};
  }

  // ---- 5 ----

  void join_slabs(const ir::CopyBoxes& c) {
    const int width = c.extents[static_cast<std::size_t>(c.inner)];
    const int slabs = static_cast<int>(f_.type(f_.operand(access_, 0)).extent(c.inner)) / width;
    Axis& last = box_.axes.back();
    const auto is_whole = [&](const Polynomial& p) { return facts_.divisor(p) % width == 0; };
    if (slabs == 1 || static_cast<int>(c.boxes.size()) != slabs || box_.axes.size() == kMostAxes || last.is_wide) return;
    if (!is_whole(last.coordinate) || !std::ranges::all_of(last.extents, is_whole)) return;
    Axis counted = std::exchange(last, {.coordinate = {}, .extents = {Polynomial(width)}, .stride = Polynomial(1), .box = width});
    counted.stride = Polynomial(width), counted.box = slabs, counted.unit = width;
    box_.axes.insert(box_.axes.end() - 2, std::move(counted));
  }

  const Function& f_;
  const OpId loop_, access_;
  const AxisInfoAnalysis& info_;
  const PositionFacts facts_;
  PolynomialReader reader_;
  const int bytes_;
  Polynomial uniform_;                        // the address without positions in the tile
  std::vector<int> tile_axes_;                // of the last axes of the box
  std::array<std::vector<Bound>, 2> bounds_;  // of the same axes
  TensorBox box_;
};

}  // namespace

std::variant<TensorBox, std::string> find_tensor_box(const Function& f, OpId loop, OpId access, const ir::LinearLayout& buffer,
                                                     const AxisInfoAnalysis& info) {
  return BoxFinder(f, loop, access, info).run(buffer);
}

}  // namespace tilewright::passes
