// Plans how the results of an atomic reach the threads that hold copies of them.
#pragma once
#include <cstdint>

#include "tileir/ir.h"

namespace tilewright::passes {

/// One thread executes the atomic for an element. How the old value reaches the other threads that hold the element:
enum class AtomicResults {
  unused,       // the result is not used
  in_place,     // no other thread holds the element
  by_shuffles,  // from a lane of the same warp, which holds it in the same register
  by_memory,    // through shared memory
};

/// Requires: a distributed function.
AtomicResults atomic_results(const ir::Function&, ir::OpId, int num_warps);
/// The bytes of shared memory that this takes.
std::int64_t atomic_scratch(const ir::Function&, ir::OpId, int num_warps);

}  // namespace tilewright::passes
