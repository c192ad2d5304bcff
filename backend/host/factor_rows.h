// Finds where the rows of a contraction's factors lie in memory.
#pragma once
#include "backend/host/emitter.h"

namespace tilewright::backend::host {

/// The number of first indices, of so many, at which all of the comparisons hold (FactorMask::columns).
Value* first_indices(Emitter&, std::int64_t extent, const std::vector<FactorIndexed>& comparisons);

/// i1: whether the conditions hold at the first and at the last one of so many rows (axis 0) or columns (axis 1), where the index of the
/// other axis is 0.
Value* hold_at_ends(Emitter&, std::int64_t extent, int axis, const std::vector<FactorIndexed>& conditions);

/// i1: whether the mask of a right factor hides nothing. Requires that it holds everywhere if it holds at the ends of each axis.
Value* is_whole_in_memory(Emitter&, const InPlaceFactor&);

/// Writes the addresses of a left factor's rows from `into` on; `zeros` for a row that the mask hides. `live`: the number of first rows that
/// are needed; null: all.
void write_row_addresses(Emitter&, const InPlaceFactor&, Value* live, Value* zeros, Value* into);

/// The address of the first one of rows that are evenly spaced, and the bytes from each to the next.
struct EvenRows {
  Value *first, *distance;
};
/// The rows of memory that a load or a store accesses.
EvenRows even_rows(Emitter&, OpId access);

}  // namespace tilewright::backend::host
