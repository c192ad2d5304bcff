// How the layouts of an op's operands and results go together in a distributed function.
#pragma once
#include <optional>
#include <string>

#include "tileir/ir.h"

namespace tilewright::ir {

/// What an op asks of the layouts of the tiles it touches.
enum class LayoutRule : std::uint8_t {
  same_layout,    // all operands and results of the result's shape have one layout: element-wise, memory, scan, flip, ...
  infer_result,   // results follow from the operand: reshape, permute, reduce, sort, join, split, cat
  infer_operand,  // the operand follows from the result: broadcast
  any_layout,     // operands and results have any layout; elements travel through shared memory or shuffles: convert_layout, gather, ...
};
LayoutRule layout_rule(OpKind);

/// The layout of the results of a `infer_result` op whose operands have this one. None: the op cannot work on it (split, unless the two
/// halves lie in different registers; sort, unless its axis lies in order).
std::optional<LinearLayout> result_layout(const Function&, OpId, const LinearLayout& operand);
/// The layout that a `infer_result` or `infer_operand` op needs its operands to have for this one of its results; none where that is open
/// (reduce).
std::optional<LinearLayout> operand_layout(const Function&, OpId, const LinearLayout& result);

/// Where an op works whose operand lies so: there if it can, else in a layout that suits it. Scan and sort want their axis in order
/// (layout/axis_order.h); others work anywhere.
LinearLayout working_layout(const Function&, OpId, const LinearLayout& operand, int log2_warps);

/// What is wrong with the layouts of the op's operands and results, or of the values its regions take and end with; empty if nothing.
/// Requires: the types are right.
std::string layout_problem(const Function&, OpId);

}  // namespace tilewright::ir
