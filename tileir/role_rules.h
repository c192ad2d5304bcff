// The rules for a function with roles, beyond the types of its ops.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tileir/ir.h"

namespace tilewright::ir {

/// The broken rules for `roles` and for ops that belong to roles, each with its op:
///   1. The body ends with `roles`, its only one. warps, registers and instances have a number for each region; the warps, the named
///   barriers
///      and the registers exist.
///   2. A region uses no tile of the body, and the body has none: the body runs on the warps of all roles, for which there is no layout.
///   3. In a role, each tile is distributed over the warps of one instance.
///   4. Arrivals are counted by the warps of a role, so they are inside of one; mbarriers are made in the body.
std::vector<std::pair<OpId, std::string>> role_problems(const Function&);

}  // namespace tilewright::ir
