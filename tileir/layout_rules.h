// The relation between the layouts of an op's operands and results in a distributed function.
#pragma once
#include <optional>
#include <string>

#include "tileir/ir.h"

namespace tilewright::ir {

inline LayoutRule layout_rule(OpKind k) { return info(k).layout; }

/// The layout of the results of an `infer_result` op whose operands have the given layout. None if the op cannot work on it (split, unless
/// the two halves are in different registers; sort, unless its axis is in order).
std::optional<LinearLayout> result_layout(const Function&, OpId, const LinearLayout& operand);
/// The layout that the operands of an `infer_result` or `infer_operand` op must have for this layout of its results; none if there are
/// several (reduce).
std::optional<LinearLayout> operand_layout(const Function&, OpId, const LinearLayout& result);

/// The layout of the leading part of a tile: registers that hold elements outside of this part are left out. None if elements outside of
/// the part are in other lanes or warps.
std::optional<LinearLayout> part_of_layout(const LinearLayout& whole, std::vector<int> log2_extents);

/// The axis that must be in order in the layout of the op's operand (layout/axis_order.h), for scan and sort.
std::optional<int> axis_in_order(const Function&, OpId);

/// The error text for the layouts of the op's operands and results, and of the arguments and terminators of its regions; empty if they are
/// correct. Requires: the types are correct.
std::string layout_problem(const Function&, OpId);

}  // namespace tilewright::ir
