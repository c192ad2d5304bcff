// The relation between the layouts of an op's operands and results in a distributed function.
#pragma once
#include <optional>
#include <string>

#include "tileir/ir.h"

namespace tilewright::ir {

inline LayoutRule layout_rule(OpKind k) { return info(k).layout; }

/// The layout of the results of an `infer_result` op whose operands have this one. None: the op cannot work on this layout (split, unless
/// the two halves are in different registers; sort, unless its axis is in order).
std::optional<LinearLayout> result_layout(const Function&, OpId, const LinearLayout& operand);
/// The layout that the operands of an `infer_result` or `infer_operand` op must have for this layout of its results; none if there are
/// several (reduce).
std::optional<LinearLayout> operand_layout(const Function&, OpId, const LinearLayout& result);

/// The layout of the first elements of a tile: registers for elements outside of this part are left out. None: such elements are in other
/// lanes or warps.
std::optional<LinearLayout> part_of_layout(const LinearLayout& whole, std::vector<int> log2_extents);

/// The axis that the op needs in order in its operand's layout (layout/axis_order.h): of scan and sort.
std::optional<int> axis_in_order(const Function&, OpId);

/// The error text for the layouts of the op's operands and results, and of the arguments and terminators of its regions; empty if they are
/// right. Requires: the types are right.
std::string layout_problem(const Function&, OpId);

}  // namespace tilewright::ir
