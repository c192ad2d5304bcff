// Loops that carry their accumulators of asynchronous products from one iteration to the next, and do nothing else with them.
#pragma once
#include <optional>
#include <vector>

#include "passes/ir_names.h"

namespace tilewright::passes {

/// The asynchronous products of a loop whose sums nothing in the loop reads: the products of an iteration may go on in the next one.
struct CarriedProducts {
  std::vector<OpId> products;  // in program order
  std::vector<OpId> waits;     // each is for all products so far
  std::vector<int> carried;    // indices of the carried values that are accumulators
};

/// None if there are no such products, or if the loop has another asynchronous product: one whose sums it reads, whose first factor is in
/// registers, or which is in a nested region.
std::optional<CarriedProducts> carried_products(const Function&, OpId loop);

}  // namespace tilewright::passes
