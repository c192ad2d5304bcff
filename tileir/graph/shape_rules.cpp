// The shape rules of leaves, maps and shape ops, and the checks that all rules share.
#include "tileir/graph/shape_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "tileir/diagnostics.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/shape_rule_checks.h"
#include "tileir/type_rules/type_rules.h"

namespace tilewright::graph {

// ---- checks ----------------------------------------------------------------------------------------------------------

Party RuleInput::party(std::size_t i) const {
  const OpInfo& row = info(node.op);
  if (node.op == Op::map) return {node.operands[i], std::string(ir::info(node.function).operand_name(static_cast<int>(i)))};
  return {node.operands[i], row.is_variadic ? fmt::format("operand {}", i + 1) : std::string(row.operand_name(i))};
}

Inferred RuleInput::fail(const std::string& message, std::initializer_list<std::size_t> operands) const {
  Inferred result;
  result.error = message;
  for (std::size_t i : operands) result.parties.push_back(party(i));
  return result;
}

std::string RuleInput::seen(std::size_t i) const { return fmt::format("'{}' is {}", party(i).name, shape_text(shape(i))); }

Inferred RuleInput::check_axis(int axis, std::size_t operand) const {
  const int rank = static_cast<int>(shape(operand).size());
  if (axis >= 0 && axis < rank) return {};
  if (rank == 0) return fail(fmt::format("axis {} of '{}', which is a scalar and has no axes", axis, party(operand).name), {operand});
  return fail(fmt::format("axis {} is out of range: {}, so it must be from 0 to {}", axis, seen(operand), rank - 1), {operand});
}

namespace rules {

namespace {

Inferred stated(const RuleInput& in) { return {in.node.shape, in.node.element, {}, {}}; }

bool is_number(ir::Element e) { return ir::is_integer(e) || (ir::is_float(e) && !ir::is_fp8(e)); }

Inferred scalar_leaf(const RuleInput& in) {
  if (!in.node.shape.empty()) return in.fail(fmt::format("the shape {} must be that of a scalar", shape_text(in.node.shape)));
  return stated(in);
}

}  // namespace

// ---- leaves ----

Inferred rule_input(const RuleInput& in) {
  const std::vector<Dim>& strides = in.node.lengths;
  if (in.node.text.empty()) return in.fail("the name is empty");
  if (!strides.empty() && strides.size() != in.node.shape.size())
    return in.fail(fmt::format("strides {} for shape {}; there must be one for each axis", shape_text(strides), shape_text(in.node.shape)));
  Inferred result = stated(in);
  for (const Dim& d : strides)
    if (!result.require(d, 0)) return in.fail(fmt::format("stride {} must not be negative", d.text()));
  return result;
}
Inferred rule_scalar(const RuleInput& in) {
  if (in.node.text.empty()) return in.fail("the name is empty");
  return scalar_leaf(in);
}
Inferred rule_constant(const RuleInput& in) {
  const std::size_t given = in.node.data ? in.node.data->bits.size() : 0;
  if (given == 1) return stated(in);
  if (given == 0) return in.fail("there is no element; a tensor without elements has one that would fill it");
  if (const std::string problem = problem_of_count(given, in.node.shape); !problem.empty()) return in.fail(problem);
  return stated(in);
}
Inferred rule_iota(const RuleInput& in) {
  const int rank = static_cast<int>(in.node.shape.size());
  if (in.node.axes.size() != 1 || in.node.axes[0] < 0 || in.node.axes[0] >= rank)
    return in.fail(fmt::format("axes are [{}]; it must be one axis of shape {}", fmt::join(in.node.axes, ", "), shape_text(in.node.shape)));
  if (!is_number(in.node.element)) return in.fail(fmt::format("no iota of {}", ir::text(in.node.element)));
  return stated(in);
}
Inferred rule_extent(const RuleInput& in) {
  if (in.node.lengths.size() != 1) return in.fail("it needs one length");
  if (!is_number(in.node.element)) return in.fail(fmt::format("no extent as {}", ir::text(in.node.element)));
  Inferred result = scalar_leaf(in);
  result.require(in.node.lengths[0], 0);
  return result;
}
Inferred rule_rand(const RuleInput& in) {
  if (in.node.element != ir::Element::f32) return in.fail("random numbers are f32");
  return stated(in);
}
Inferred rule_argument(const RuleInput& in) {
  if (in.node.position < 0 || in.node.position > 1) return in.fail(fmt::format("position {} must be 0 or 1", in.node.position));
  return scalar_leaf(in);
}

// ---- element-wise ----

Inferred rule_map(const RuleInput& in) {
  const Node& node = in.node;
  if (!is_function(node.function)) return in.fail(fmt::format("'{}' is not an element-wise op", ir::text(node.function)));
  std::vector<ir::Type> types;
  for (std::size_t i = 0; i < node.operands.size(); ++i) types.emplace_back(in.element(i));
  const bool is_conversion = ir::info(node.function).family == ir::Family::convert;
  const ir::Type declared[] = {ir::Type(node.element)};
  const ir::RuleResult types_rule =
      ir::infer({node.function, types, {}, is_conversion ? std::span<const ir::Type>(declared) : std::span<const ir::Type>()});
  if (!types_rule.ok()) {
    // The message of the tile op's rule begins with the op's name; here the caller adds the name.
    const std::size_t colon = types_rule.error.find(": ");
    const std::string message = types_rule.error.substr(colon == std::string::npos ? 0 : colon + 2);
    if (types_rule.note_operand < 0) return in.fail(message);
    return in.fail(message, {static_cast<std::size_t>(types_rule.note_operand)});
  }
  std::vector<Party> operands;
  for (std::size_t i = 0; i < node.operands.size(); ++i) operands.push_back(in.party(i));
  Inferred result = common_shape(in.graph, operands);
  result.element = types_rule.types[0].element();
  return result;
}

// ---- shape ----

Inferred rule_reshape(const RuleInput& in) {
  const Dim from = element_count(in.shape(0)), to = element_count(in.node.shape);
  if (from != to)
    return in.fail(fmt::format("{} with {} elements; {} has {}", in.seen(0), from.text(),
                               in.node.shape.empty() ? "a scalar" : "shape " + shape_text(in.node.shape), to.text()),
                   {0});
  return {in.node.shape, in.element(0), {}, {}};
}

Inferred rule_permute(const RuleInput& in) {
  const TensorShape& from = in.shape(0);
  std::vector<int> sorted = in.node.axes;
  std::sort(sorted.begin(), sorted.end());
  bool is_permutation = sorted.size() == from.size();
  for (std::size_t i = 0; is_permutation && i < sorted.size(); ++i) is_permutation = sorted[i] == static_cast<int>(i);
  if (!is_permutation)
    return in.fail(fmt::format("axes are [{}]; each of the {} axes of '{}', which is {}, must be named once", fmt::join(in.node.axes, ", "),
                               from.size(), in.party(0).name, shape_text(from)),
                   {0});
  Inferred result{{}, in.element(0), {}, {}};
  for (int axis : in.node.axes) result.shape.push_back(from[static_cast<std::size_t>(axis)]);
  return result;
}

Inferred rule_broadcast(const RuleInput& in) {
  if (!broadcasts(in.shape(0), in.node.shape))
    return in.fail(fmt::format("{} and does not broadcast to {}", in.seen(0), shape_text(in.node.shape)), {0});
  return {in.node.shape, in.element(0), {}, {}};
}

Inferred rule_slice(const RuleInput& in) {
  if (in.node.axes.size() != 1 || in.node.lengths.size() != 3) return in.fail("it needs one axis, and begin, end and step");
  const int axis = in.node.axes[0];
  if (Inferred r = in.check_axis(axis); !r.ok()) return r;
  const Dim &begin = in.node.lengths[0], &end = in.node.lengths[1], &step = in.node.lengths[2];
  Inferred result{in.shape(0), in.element(0), {}, {}};
  Dim& extent = result.shape[static_cast<std::size_t>(axis)];
  // With symbols, only a range that is wrong in every run is an error here.
  if (!result.require(begin, 0) || !result.require(end - begin, 0) || !result.require(extent - end, 0))
    return in.fail(fmt::format("from {} to {} of axis {}, which has extent {}; it must be 0 <= begin <= end <= extent", begin.text(),
                               end.text(), axis, extent.text()),
                   {0});
  if (!result.require(step, 1)) return in.fail(fmt::format("step {} must be 1 or more", step.text()));
  const Dim length = end - begin;
  extent = length.is_constant() && step.is_constant() ? Dim((length.value() + step.value() - 1) / step.value()) : length / step;
  return result;
}

Inferred rule_concat(const RuleInput& in) {
  if (in.node.operands.empty()) return in.fail("there are no tensors");
  if (in.node.axes.size() != 1) return in.fail("it needs one axis");
  const int axis = in.node.axes[0];
  if (Inferred r = in.check_axis(axis); !r.ok()) return r;
  Inferred result{in.shape(0), in.element(0), {}, {}};
  for (std::size_t k = 1; k < in.node.operands.size(); ++k) {
    const TensorShape& s = in.shape(k);
    bool is_alike = s.size() == result.shape.size();
    for (std::size_t i = 0; is_alike && i < s.size(); ++i)
      if (static_cast<int>(i) != axis) is_alike = s[i] == result.shape[i];
    if (!is_alike) return in.fail(fmt::format("{} and {}; they must be alike but for axis {}", in.seen(0), in.seen(k), axis), {0, k});
    if (in.element(k) != in.element(0))
      return in.fail(fmt::format("'{}' is {} and '{}' is {}; they must have one element type", in.party(0).name, ir::text(in.element(0)),
                                 in.party(k).name, ir::text(in.element(k))),
                     {0, k});
    result.shape[static_cast<std::size_t>(axis)] += s[static_cast<std::size_t>(axis)];
  }
  return result;
}

Inferred rule_pad(const RuleInput& in) {
  if (in.node.axes.size() != 1 || in.node.lengths.size() != 2) return in.fail("it needs one axis, and the lengths before and after");
  const int axis = in.node.axes[0];
  if (Inferred r = in.check_axis(axis); !r.ok()) return r;
  if (!in.shape(1).empty()) return in.fail(fmt::format("{}; it must be a scalar", in.seen(1)), {1});
  if (in.element(1) != in.element(0))
    return in.fail(fmt::format("'value' is {}; it must be {} as 't' is", ir::text(in.element(1)), ir::text(in.element(0))), {0, 1});
  Inferred result{in.shape(0), in.element(0), {}, {}};
  for (const Dim& length : in.node.lengths) {
    if (!result.require(length, 0)) return in.fail(fmt::format("length {} must not be negative", length.text()), {0});
    result.shape[static_cast<std::size_t>(axis)] += length;
  }
  return result;
}

Inferred rule_flip(const RuleInput& in) {
  if (in.node.axes.size() != 1) return in.fail("it needs one axis");
  if (Inferred r = in.check_axis(in.node.axes[0]); !r.ok()) return r;
  return {in.shape(0), in.element(0), {}, {}};
}

Inferred rule_rotate(const RuleInput& in) {
  if (in.node.axes.size() != 1 || in.node.lengths.size() != 1) return in.fail("it needs one axis, and the offset");
  if (Inferred r = in.check_axis(in.node.axes[0]); !r.ok()) return r;
  // Any value is right for the offset, which counts modulo the extent.
  return {in.shape(0), in.element(0), {}, {}};
}

Inferred rule_window(const RuleInput& in) {
  if (in.node.axes.size() != 1 || in.node.lengths.size() != 3) return in.fail("it needs one axis, and size, step and dilation");
  const int axis = in.node.axes[0];
  if (Inferred r = in.check_axis(axis); !r.ok()) return r;
  const Dim &size = in.node.lengths[0], &step = in.node.lengths[1], &dilation = in.node.lengths[2];
  Inferred result{in.shape(0), in.element(0), {}, {}};
  if (!result.require(size, 1)) return in.fail(fmt::format("size {} must be 1 or more", size.text()));
  if (!result.require(step, 1)) return in.fail(fmt::format("step {} must be 1 or more", step.text()));
  if (!result.require(dilation, 1)) return in.fail(fmt::format("dilation {} must be 1 or more", dilation.text()));
  Dim& extent = result.shape[static_cast<std::size_t>(axis)];
  const Dim last = dilation * (size - 1), steps = extent - last - 1;  // of the first position's elements, and from it to the last position
  if (!result.require(steps, 0))
    return in.fail(fmt::format("a window of {} elements{} is longer than axis {}, which has extent {}", size.text(),
                               dilation == Dim(1) ? "" : fmt::format(" with dilation {}", dilation.text()), axis, extent.text()),
                   {0});
  // Between numbers, what is left at the end is in no window.
  extent = (steps.is_constant() && step.is_constant() ? Dim(steps.value() / step.value()) : steps / step) + 1;
  result.shape.push_back(size);
  return result;
}

Inferred rule_materialize(const RuleInput& in) { return {in.shape(0), in.element(0), {}, {}}; }
Inferred rule_call(const RuleInput& in) { return stated(in); }

}  // namespace rules

namespace {

/// A rule must not give a type that the column `integers` of its row excludes: that is a mistake in the table.
void check_type(const RuleInput& in, const Inferred& result) {
  const Integers integers = info(in.node.op).integers;
  TW_CHECK(integers != Integers::none || !ir::is_integer(result.element), "graph_ops.def: an op without integers gives them");
  TW_CHECK(integers != Integers::operand || result.element == in.element(0), "graph_ops.def: an op gives no elements of its operand");
}

Inferred apply_rule(const RuleInput& in) {
  switch (in.node.op) {
#define TW_GRAPH_OP(name, ...) \
  case Op::name: return rules::rule_##name(in);
#include "tileir/graph/graph_ops.def"
#undef TW_GRAPH_OP
  }
  return {};
}

}  // namespace

Inferred infer(const Graph& graph, const Node& node) {
  const RuleInput in{graph, node};
  const OpInfo& row = info(node.op);
  const std::size_t least = row.operands.size() - (row.is_variadic ? 1 : 0);
  if (node.operands.size() < least || (!row.is_variadic && node.operands.size() > least))
    return in.fail(fmt::format("{} operands; it takes {}{}", node.operands.size(), least, row.is_variadic ? " or more" : ""));
  try {
    Inferred result = apply_rule(in);
    if (result.ok()) check_type(in, result);
    if (result.ok()) result.error = problem_of(result.shape);
    return result;
  } catch (const Error& e) {
    // An overflow of extents reports a line of this file: keep the message without the line.
    const std::string_view text = e.what(), mark = "error: ";
    return in.fail(std::string(text.substr(text.find(mark) + mark.size())));
  }
}

}  // namespace tilewright::graph
