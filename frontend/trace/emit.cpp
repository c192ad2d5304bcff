// Makes constants, broadcasts, and checks what only the front end can check.
#include "frontend/trace/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"
#include "tileir/scalar_fit.h"

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

ir::ValueId Emit::constant(const Scalar& s, ir::Element e, std::span<const std::int64_t> shape) {
  const FittedScalar f = fit(s, e);
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
  std::vector<std::size_t> from;  // the operand that determines each extent, aligned like `shape`
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
