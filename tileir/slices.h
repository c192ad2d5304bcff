// Walks along chains of definitions and uses, and up the nest of regions (after MLIR's SliceAnalysis).
//
//   x = load p; y = mul x, 2; z = add y, x     backward_slice of {z}: add, mul, load     forward_uses of x: mul, add, then add as y's user
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "tileir/ir.h"

namespace tilewright::ir {

/// How a walk continues after a visit: through the results of the visited op, past the op, or not at all.
enum class WalkResult : std::uint8_t { advance, skip, interrupt };

/// The ops that the values are computed from, nearest first, each once: the definers for which `include(OpId)` holds, and in turn the
/// definers of their operands. At most `limit` ops.
template <class Include>
std::vector<OpId> backward_slice(const Function& f, std::span<const ValueId> values, Include&& include, std::size_t limit = SIZE_MAX) {
  std::vector<OpId> slice;
  std::vector<bool> seen(f.op_capacity());
  const auto add_definers = [&](std::span<const ValueId> of) {
    for (ValueId v : of) {
      const OpId definer = f.value(v).op;
      if (!definer || seen[definer.index] || slice.size() >= limit || !include(definer)) continue;
      seen[definer.index] = true;
      slice.push_back(definer);
    }
  };
  add_definers(values);
  for (std::size_t next = 0; next < slice.size(); ++next) add_definers(f.op(slice[next]).operands);
  return slice;
}

/// Calls `visit(OpId user, ValueId used)` for every use of the value, and of the results of each user for which it returned advance.
/// Returns false if a visit interrupted the walk.
template <class Visit>
bool forward_uses(const Function& f, ValueId value, Visit&& visit) {
  std::vector<ValueId> reached{value};
  std::vector<bool> seen(f.value_capacity());
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const ValueId used = reached[next];
    for (OpId user : f.value(used).users) {
      const WalkResult result = visit(user, used);
      if (result == WalkResult::interrupt) return false;
      if (result == WalkResult::skip) continue;
      for (ValueId v : f.op(user).results) {
        if (!seen[v.index]) reached.push_back(v);
        seen[v.index] = true;
      }
    }
  }
  return true;
}

/// The op whose region contains this op; none for an op of the function's body.
inline OpId parent_op(const Function& f, OpId id) { return f.block(f.op(id).parent).parent; }
/// The innermost for or while around a block; none if the block is in no loop.
OpId enclosing_loop(const Function&, BlockId);
/// The op of `block` that is `id` or contains it; none if `id` is elsewhere.
OpId ancestor_in(const Function&, OpId id, BlockId block);

inline bool is_defined_in(const Function& f, ValueId v, BlockId region) { return f.encloses(region, f.defining_block(v)); }
/// The values that ops in a region, also nested ones, use from outside of it: in program order, each once.
std::vector<ValueId> used_from_above(const Function&, BlockId region);

}  // namespace tilewright::ir
