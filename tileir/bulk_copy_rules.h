// The rules of tensor maps and bulk copies that concern more than the types of one op.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tileir/ir.h"

namespace tilewright::ir {

/// The ops that break a rule, and what is wrong. Requires: the types are correct.
///
/// A make_tensor_map is in the body, and the host can compute its operands (tileir/launch_values.h). Bulk stores write no tensor that may
/// be loaded only.
std::vector<std::pair<OpId, std::string>> tensor_map_problems(const Function&);

/// How many slabs of the buffer one copy writes or reads: a map may have an axis in front of those of the buffer that counts them, so that element
/// [.., s, .., c] of the tensor is column s * (elements of a slab) + c of the tile.
///
/// Example: slabs_of_copy(tensor_map<f16>[4, 64, 64], buffer<1, f16>[64, 256]) -> 4
std::int64_t slabs_of_copy(const Type& map, const Type& buffer);

/// The problem with the buffer of a bulk_copy or bulk_store; empty if there is none: it must be an aligned canonical buffer in slabs of the
/// map's swizzle along its last axis, and the box of the map must be the part of it that one copy writes or reads. Requires: tiles have
/// layouts.
std::string bulk_copy_problem(const Function&, OpId);

}  // namespace tilewright::ir
