// How the results of an atomic reach the threads that hold copies of them: planned once for its scratch and its code.
#pragma once
#include <cstdint>

#include "tileir/ir.h"

namespace tilewright::passes {

/// An element's atomic is done by one thread. Others that hold the element too get what was there before ...
enum class AtomicResults {
  unused,       // not at all
  in_place,     // there are none
  by_shuffles,  // from a lane of their warp, which holds it in the same register
  by_memory,    // through shared memory
};

/// Requires: a distributed function.
AtomicResults atomic_results(const ir::Function&, ir::OpId, int num_warps);
/// Bytes of shared memory for that.
std::int64_t atomic_scratch(const ir::Function&, ir::OpId, int num_warps);

}  // namespace tilewright::passes
