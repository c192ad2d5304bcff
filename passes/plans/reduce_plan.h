// The steps of a reduce, and its exchanges between warps.
#pragma once
#include <cstdint>
#include <vector>

#include "tileir/ir.h"
#include "tileir/layout/reduce_steps.h"

namespace tilewright::passes {

/// Steps that cross warps and are done together: each warp stores its partial results, then each thread loads all those that belong to its
/// results and combines them. The partial results form a tile of one axis; the lowest bits of its index are the sides of the steps.
struct ReduceExchange {
  std::size_t first = 0, count = 0;  // a range of steps
  std::vector<int> bits;             // indexed by step: the bit that selects the side
  std::vector<int> register_bits;    // not combined yet; the register bits of `partials` are these, side by side
  ir::LinearLayout partials;         // the layout in which they are stored
  ir::LinearLayout wanted;           // the layout in which they are loaded: the lowest `count` register bits are the sides
};

struct ReducePlan {
  std::vector<ir::ReduceStep> steps;
  std::vector<ReduceExchange> exchanges;
};

/// Requires: a layout without free registers.
ReducePlan plan_reduce(const ir::LinearLayout&, int axis, bool commutative);

/// Bytes of scratch for one operand of this type in an exchange. The scratch of a reduce is that of its exchanges and operands, in order.
std::int64_t exchange_bytes(const ReduceExchange&, const ir::Type& element);

}  // namespace tilewright::passes
