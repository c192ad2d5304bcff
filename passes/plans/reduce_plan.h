// How a reduce goes between warps: planned once for its scratch and its code.
#pragma once
#include <cstdint>
#include <vector>

#include "tileir/ir.h"
#include "tileir/layout/reduce_steps.h"

namespace tilewright::passes {

/// Steps that cross warps, taken together: each warp writes what it has, then each thread reads all that belong to its results and
/// combines them. As a tile of one axis, whose lowest bits say which of the things to combine: on which side of each step it is.
struct ReduceExchange {
  std::size_t first = 0, count = 0;  // of the steps
  std::vector<int> bits;             // by step: which bit says so
  std::vector<int> register_bits;    // that are left: a register of `partials` has them side by side
  ir::LinearLayout partials;         // who writes what
  ir::LinearLayout wanted;           // who reads what: the lowest `count` register bits are those of the things to combine
};

struct ReducePlan {
  std::vector<ir::ReduceStep> steps;
  std::vector<ReduceExchange> exchanges;
};

/// Requires: a layout without free registers.
ReducePlan plan_reduce(const ir::LinearLayout&, int axis, bool commutative);

/// Of an operand of this type in an exchange. Operands follow each other, and so do exchanges.
std::int64_t exchange_bytes(const ReduceExchange&, const ir::Type& element);

}  // namespace tilewright::passes
