// Reduces inside of loop nests: along the last extent in registers, along other extents in a buffer of results.
#pragma once
#include <vector>

#include "backend/host/nest.h"

namespace tilewright::backend::host {

/// Whether the op is a reduce along the last extent of the step.
bool is_inner_reduce(const Function&, const Step&, OpId);

/// The state of a reduce along the last extent while its nest runs: partial results in registers. See ir::ReductionOrder.
struct Partials {
  OpId op;
  bool in_order;                // the op is not commutative
  std::vector<Values> carried;  // by result. Commutative: vectors; in order: scalars combined from all elements before
  std::vector<Values> block;    // in order: of the vectors of this iteration, those without a neighbour to combine with so far
};

/// The number of vectors of an iteration that the reduce combines at once.
unsigned vectors_of_reduce(Nest&, OpId);
Partials begin_reduce(Nest&, OpId);
/// Combines the elements at the current index, in vector `unroll_index` of the iteration, into the partial results.
void accumulate(Nest&, Partials&, unsigned unroll_index);
/// Combines the partial results, and sets or stores the results of the reduce.
void finish_reduce(Nest&, const Partials&);

/// For a reduce along another extent: combines the elements at the current index into the buffer of results.
void accumulate_in_buffer(Nest&, OpId);

}  // namespace tilewright::backend::host
