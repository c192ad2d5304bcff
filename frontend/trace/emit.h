// Adds the ops of one user operation to the current trace: checks arguments, makes constants, broadcasts.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/trace/ir_type.h"
#include "frontend/trace/trace_state.h"
#include "tilewright/tile.h"

namespace tilewright::detail {

using Extents = std::vector<std::int64_t>;

/// `name`: the function that the user called. Messages begin with it.
class Emit {
 public:
  Emit(std::string_view name, const Here& at) : name_(name), at_(at), trace_(Trace::current(name, at)), b_(trace_.builder(at)) {}

  ir::Builder& b() { return b_; }
  Trace& trace() { return trace_; }
  ir::Type type(ir::ValueId v) const { return trace_.function().type(v); }
  [[noreturn]] void fail(const std::string& message) const;
  /// Throws Error with a note at the line of the other argument, if that line is known.
  [[noreturn]] void fail(const std::string& message, ir::ValueId party, const std::string& note) const;

  ir::ValueId value(const Handle& h, std::string_view operand) const { return trace_.value(h, name_, operand, at_); }
  /// A constant tile with one value. Throws Error if the number does not fit the element type.
  ir::ValueId constant(const Scalar&, ir::Element, std::span<const std::int64_t> shape = {});
  ir::ValueId real(ir::Type, double);
  ir::ValueId integer(ir::Type, std::int64_t);

  /// Converts arguments to one element type and one shape: widens narrow types, broadcasts shapes, makes constants.
  std::vector<ir::ValueId> unify(std::span<const Input>, TypeCode meet, std::span<const std::string_view> operands);
  std::vector<ir::ValueId> unify(std::span<const Input> inputs, TypeCode meet, ir::OpKind);
  /// An integer argument as i32 or i64. A tile of any integer type is cast.
  ir::ValueId integer_input(const Input&, ir::Element, std::string_view operand);

  /// The shape to which the tiles broadcast, aligned from the right.
  Extents common_shape(std::span<const ir::ValueId>, std::span<const std::string_view> operands) const;
  /// Broadcasts v to this shape. Requires that it can.
  ir::ValueId broadcast(ir::ValueId, std::span<const std::int64_t> shape);
  /// Broadcasts, or throws Error if it cannot: "'mask' is [64] and does not broadcast to [32], the shape of 'pointer'".
  ir::ValueId broadcast_onto(ir::ValueId v, std::string_view operand, ir::ValueId onto, std::string_view onto_operand);
  /// A given argument in the shape of another: a constant of this element type, or a tile that broadcasts to the shape.
  ir::ValueId argument_onto(const Maybe&, ir::Element, std::string_view operand, ir::ValueId onto, std::string_view onto_operand);
  void broadcast_all(std::span<ir::ValueId>, std::span<const std::string_view> operands);

  /// The index of an axis among `count`; a negative axis counts from the end.
  int axis(std::int64_t axis, int count, ir::ValueId of, std::string_view operand) const;
  /// Throws Error unless this is a valid shape of a tile.
  Extents checked(const Shape&) const;
  void check_size(std::span<const std::int64_t> shape) const;
  /// Throws Error inside of a combine function, because the target may apply it to any elements, in any order, and to many at once.
  void expect_no_combine() const;

 private:
  std::string_view name_;
  const Here& at_;
  Trace& trace_;
  ir::Builder& b_;
};

/// The extents of axes as shown in messages: "[64, 32]" or "a scalar".
std::string text_of(std::span<const std::int64_t> shape);
/// Whether `from` broadcasts to `to`, aligned from the right.
bool broadcasts(std::span<const std::int64_t> from, std::span<const std::int64_t> to);

inline Made made(ir::ValueId v) { return {v.index}; }

}  // namespace tilewright::detail
