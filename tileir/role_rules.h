// What a function with roles must satisfy beyond the types of its ops.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tileir/ir.h"

namespace tilewright::ir {

/// The rules of `roles` and of the ops that belong to roles, each broken one with its op:
///   1. roles is the last op of the body, and one; warps, registers and instances have a number for each region; the warps, the named
///   barriers
///      and the registers exist.
///   2. A region takes no tile from the body, and the body has none: its warps are those of all roles, of which no layout knows.
///   3. In a role each tile is distributed over the warps of an instance.
///   4. Arrivals are counted by the warps of a role, so they are in one; mbarriers are made in the body.
std::vector<std::pair<OpId, std::string>> role_problems(const Function&);

}  // namespace tilewright::ir
