// The rules of asynchronous products that concern more than one op.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tileir/ir.h"

namespace tilewright::ir {

/// The ops that break a rule of accumulators in flight, and what is wrong. Requires: the types are correct.
///
/// The result of an mma_async is used by mma_async, as acc, by mma_wait, and by loops and branches that pass it on; by nothing else, since
/// the hardware may still write its registers. A factor that a product reads from registers is an operand of an mma_wait, so that they are
/// not used for another value before.
std::vector<std::pair<OpId, std::string>> product_problems(const Function&);

}  // namespace tilewright::ir
