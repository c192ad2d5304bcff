// Makes constants, broadcasts, and makes the checks that only the front end can make.
#include "frontend/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::detail {

void Emit::fail(const std::string& message) const { detail::fail(at_, fmt::format("{}: {}", name_, message)); }

void Emit::fail(const std::string& message, ir::ValueId party, const std::string& note) const {
  const Location there = trace_.function().where(party);
  std::vector<Note> notes;
  if (there.line > 0) notes.push_back({there, note});
  detail::fail(at_, fmt::format("{}: {}", name_, message), notes);
}

void Emit::expect_no_combine() const {
  const ir::Function& f = trace_.function();
  for (ir::OpId owner = f.block(trace_.block()).parent; owner; owner = f.block(f.op(owner).parent).parent)
    if (ir::combines(f.kind(owner)))
      detail::fail(at_,
                   fmt::format("{}: a combine function only computes with its elements; it cannot load, store, reduce, branch or loop "
                               "(where() chooses between values)",
                               name_),
                   {{f.where(owner),
                     fmt::format("it combines the elements of this {}", f.kind(owner) == ir::OpKind::scan_ ? "scan" : "reduction")}});
}

std::string text_of(std::span<const std::int64_t> shape) { return ir::shape_text(shape); }

// ---- constants -------------------------------------------------------------------------------------------------------

namespace {

struct IntegerRange {
  std::int64_t least;
  std::uint64_t greatest;
};
IntegerRange range_of(ir::Element e) {
  const int n = ir::bits(e);
  const std::uint64_t all = n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
  if (ir::is_unsigned(e)) return {0, all};
  return {-static_cast<std::int64_t>(all >> 1) - 1, all >> 1};
}

bool negative(const Scalar& s) { return s.kind == Scalar::Kind::signed_integer && static_cast<std::int64_t>(s.bits) < 0; }

std::string text_of(const Scalar& s) {
  switch (s.kind) {
    case Scalar::Kind::signed_integer: return fmt::format("{}", static_cast<std::int64_t>(s.bits));
    case Scalar::Kind::unsigned_integer: return fmt::format("{}", s.bits);
    case Scalar::Kind::real: return fmt::format("{}", s.real);
    case Scalar::Kind::boolean: return s.bits != 0 ? "true" : "false";
  }
  TW_UNREACHABLE("kind of a scalar");
}

double greatest(ir::Element e) {
  switch (e) {
    case ir::Element::f16: return 65504;
    case ir::Element::bf16: return ir::float_value(e, 0x7f7f);
    case ir::Element::f8e4m3: return 448;
    case ir::Element::f8e5m2: return 57344;
    case ir::Element::f32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

/// The bits of a constant in this element type, or an error text.
struct Fit {
  std::uint64_t bits = 0;
  std::string problem;
};

Fit fit_real(double v, ir::Element e) {
  if (std::isinf(v) && e == ir::Element::f8e4m3) return {0, "f8e4m3 has no infinity"};
  const std::uint64_t bits = ir::element_bits(e, v);
  if (std::isfinite(v) && !std::isfinite(ir::float_value(e, bits)))
    return {0, fmt::format("constant {} overflows {}, whose greatest value is {}", v, ir::text(e), greatest(e))};
  return {bits, {}};
}

Fit fit(const Scalar& s, ir::Element e) {
  if (s.kind == Scalar::Kind::real) return fit_real(s.real, e);
  if (e == ir::Element::boolean) return {s.bits, {}};
  if (ir::is_float(e)) {
    const std::uint64_t magnitude = negative(s) ? 0 - s.bits : s.bits;
    const double v = negative(s) ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
    const Fit rounded = fit_real(v, e);
    if (!rounded.problem.empty()) return rounded;
    const bool exact =
        magnitude == 0 || (std::bit_width(magnitude) - std::countr_zero(magnitude) <= 53 && ir::float_value(e, rounded.bits) == v);
    if (exact) return rounded;
    return {0, fmt::format("constant {} is not exact in {}: write it as a float to have it rounded", text_of(s), ir::text(e))};
  }
  const IntegerRange r = range_of(e);
  const bool fits = negative(s) ? static_cast<std::int64_t>(s.bits) >= r.least : s.bits <= r.greatest;
  if (fits) return {ir::element_bits(e, static_cast<std::int64_t>(s.bits)), {}};
  return {0, fmt::format("constant {} does not fit {} ({} to {})", text_of(s), ir::text(e), r.least, r.greatest)};
}

}  // namespace

ir::ValueId Emit::constant(const Scalar& s, ir::Element e, std::span<const std::int64_t> shape) {
  const Fit f = fit(s, e);
  if (!f.problem.empty()) fail(f.problem);
  return b_.constant_bits(ir::Type(e, shape), f.bits);
}

ir::ValueId Emit::real(ir::Type t, double v) { return b_.constant_float(t, v); }
ir::ValueId Emit::integer(ir::Type t, std::int64_t v) { return b_.constant(t, v); }

// ---- shapes ----------------------------------------------------------------------------------------------------------

bool broadcasts(std::span<const std::int64_t> from, std::span<const std::int64_t> to) {
  if (from.size() > to.size()) return false;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::int64_t extent = from[from.size() - 1 - i];
    if (extent != 1 && extent != to[to.size() - 1 - i]) return false;
  }
  return true;
}

void Emit::check_size(std::span<const std::int64_t> shape) const {
  std::int64_t elements = 1;
  for (std::int64_t e : shape) {
    elements *= e;
    if (elements > std::int64_t{1} << ir::kMaxLog2Elements)
      fail(fmt::format("a tile of shape {} is too large: at most 2^20 = 1048576 elements", detail::text_of(shape)));
  }
}

Extents Emit::checked(const Shape& shape) const {
  Extents extents(shape.begin(), shape.end());
  const std::string text = detail::text_of(extents);
  if (extents.size() > static_cast<std::size_t>(ir::kMaxRank))
    fail(fmt::format("shape {} has {} axes; a tile has at most 5", text, extents.size()));
  for (std::int64_t e : extents) {
    if (e <= 0) fail(fmt::format("extent {} of shape {} must be positive", e, text));
    if (!std::has_single_bit(static_cast<std::uint64_t>(e))) fail(fmt::format("extent {} of shape {} must be a power of two", e, text));
    if (e > std::int64_t{1} << ir::kMaxLog2Elements)
      fail(fmt::format("extent {} of shape {} is too large: at most 2^20 = 1048576", e, text));
  }
  check_size(extents);
  return extents;
}

int Emit::axis(std::int64_t axis, int count, ir::ValueId of, std::string_view operand) const {
  const std::string shape = ir::shape_text(type(of));
  if (count == 0)
    fail(fmt::format("axis {} of '{}', which is a scalar and has no axes", axis, operand), of, fmt::format("'{}' defined here", operand));
  if (axis < -count || axis >= count)
    fail(fmt::format("axis {} is out of range: '{}' is {}, so it must be from {} to {}", axis, operand, shape, -count, count - 1), of,
         fmt::format("'{}' defined here", operand));
  return static_cast<int>(axis < 0 ? axis + count : axis);
}

Extents Emit::common_shape(std::span<const ir::ValueId> values, std::span<const std::string_view> operands) const {
  Extents shape;
  std::vector<std::size_t> from;  // the operand that each extent comes from, aligned as shape
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Extents s = type(values[k]).shape();
    while (shape.size() < s.size()) shape.insert(shape.begin(), 1), from.insert(from.begin(), k);
    for (std::size_t i = 0; i < s.size(); ++i) {
      const std::size_t at = shape.size() - s.size() + i;
      if (s[i] == shape[at] || s[i] == 1) continue;
      if (shape[at] != 1) {
        const std::size_t other = from[at];
        fail(fmt::format("'{}' is {} and '{}' is {}; extents must be equal or 1, aligned from the right, but {} and {} differ",
                         operands[other], ir::shape_text(type(values[other])), operands[k], ir::shape_text(type(values[k])), shape[at],
                         s[i]),
             values[k], fmt::format("'{}' defined here", operands[k]));
      }
      shape[at] = s[i];
      from[at] = k;
    }
  }
  check_size(shape);
  return shape;
}

ir::ValueId Emit::broadcast(ir::ValueId v, std::span<const std::int64_t> shape) {
  const ir::Type t = type(v);
  if (!t.is_scalar() && t.rank() < static_cast<int>(shape.size())) {
    Extents aligned = t.shape();
    aligned.insert(aligned.begin(), shape.size() - aligned.size(), 1);
    v = b_.reshape(v, aligned);
  }
  return b_.broadcast(v, shape);
}

ir::ValueId Emit::broadcast_onto(ir::ValueId v, std::string_view operand, ir::ValueId onto, std::string_view onto_operand) {
  const Extents shape = type(onto).shape();
  if (!broadcasts(type(v).shape(), shape))
    fail(fmt::format("'{}' is {} and does not broadcast to the shape of '{}', which is {}", operand, ir::shape_text(type(v)), onto_operand,
                     ir::shape_text(type(onto))),
         v, fmt::format("'{}' defined here", operand));
  return broadcast(v, shape);
}

ir::ValueId Emit::argument_onto(const Maybe& m, ir::Element element, std::string_view operand, ir::ValueId onto,
                                std::string_view onto_operand) {
  if (m.is_constant) return constant(m.constant, element, type(onto).shape());
  return broadcast_onto(value(*m.handle, operand), operand, onto, onto_operand);
}

void Emit::broadcast_all(std::span<ir::ValueId> values, std::span<const std::string_view> operands) {
  const Extents shape = common_shape(values, operands);
  for (ir::ValueId& v : values) v = broadcast(v, shape);
}

// ---- arguments -------------------------------------------------------------------------------------------------------

std::vector<ir::ValueId> Emit::unify(std::span<const Input> inputs, TypeCode meet, std::span<const std::string_view> operands) {
  const ir::Element element = static_cast<ir::Element>(meet.element);
  std::vector<ir::ValueId> tiles, all(inputs.size());
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].handle != nullptr) {
      all[i] = value(*inputs[i].handle, operands[i]);
      tiles.push_back(all[i]);
      names.push_back(operands[i]);
    }
  const Extents shape = common_shape(tiles, names);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!all[i]) {
      all[i] = constant(inputs[i].constant, element, shape);
      continue;
    }
    if (meet.indirection == Indirection::value) all[i] = b_.cast(all[i], element);
    all[i] = broadcast(all[i], shape);
  }
  return all;
}

std::vector<ir::ValueId> Emit::unify(std::span<const Input> inputs, TypeCode meet, ir::OpKind kind) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < inputs.size(); ++i) names.push_back(ir::info(kind).operand_name(static_cast<int>(i)));
  return unify(inputs, meet, names);
}

ir::ValueId Emit::integer_input(const Input& input, ir::Element e, std::string_view operand) {
  if (input.handle == nullptr) return constant(input.constant, e);
  return b_.cast(value(*input.handle, operand), e);
}

}  // namespace tilewright::detail
