// Reduces inside of loop nests: along the last extent in registers, along the others in a buffer of results.
#pragma once
#include <vector>

#include "backend/host/nest.h"

namespace tilewright::backend::host {

/// Whether the op is a reduce along the last extent of the step.
bool is_inner_reduce(const Function&, const Step&, OpId);

/// A reduce along the last extent while its nest runs: partial results in registers. See ir::ReductionOrder.
struct Partials {
  OpId op;
  bool in_order;                // not commutative
  std::vector<Values> carried;  // from iteration to iteration; values by result. Commutative: vectors; in order: what is before, scalars
  std::vector<Values> block;    // in order: of the vectors of this iteration, what has no neighbour to be combined with yet
};

/// How many vectors of an iteration the reduce combines at once.
unsigned vectors_of_reduce(Nest&, OpId);
Partials begin_reduce(Nest&, OpId);
/// Combines the elements at the current index, of vector `unroll_index` of the iteration, into the partial results.
void accumulate(Nest&, Partials&, unsigned unroll_index);
/// Combines the partial results, and sets or stores the results of the reduce.
void finish_reduce(Nest&, const Partials&);

/// A reduce along another extent: combines the elements at the current index into the buffer of results.
void accumulate_in_buffer(Nest&, OpId);

}  // namespace tilewright::backend::host
