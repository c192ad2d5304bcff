// How the layouts of an op's operands and results go together in a distributed function.
#pragma once
#include <optional>
#include <string>

#include "tileir/ir.h"

namespace tilewright::ir {

inline LayoutRule layout_rule(OpKind k) { return info(k).layout; }

/// The layout of the results of a `infer_result` op whose operands have this one. None: the op cannot work on it (split, unless the two
/// halves lie in different registers; sort, unless its axis lies in order).
std::optional<LinearLayout> result_layout(const Function&, OpId, const LinearLayout& operand);
/// The layout that a `infer_result` or `infer_operand` op needs its operands to have for this one of its results; none where that is open
/// (reduce).
std::optional<LinearLayout> operand_layout(const Function&, OpId, const LinearLayout& result);

/// The axis that the op needs in order in its operand's layout (layout/axis_order.h): of scan and sort.
std::optional<int> axis_in_order(const Function&, OpId);

/// What is wrong with the layouts of the op's operands and results, or of the values its regions take and end with; empty if nothing.
/// Requires: the types are right.
std::string layout_problem(const Function&, OpId);

}  // namespace tilewright::ir
