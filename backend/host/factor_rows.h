// Where the rows of a contraction's factors lie in memory.
#pragma once
#include "backend/host/emitter.h"

namespace tilewright::backend::host {

/// The number of first indices, of so many, at which all of the comparisons hold (FactorMask::columns).
Value* first_indices(Emitter&, std::int64_t extent, const std::vector<FactorIndexed>& comparisons);

/// i1: whether a right factor's mask hides none of its rows. `comparisons` are ContractedDot::right_rows.
Value* has_all_rows(Emitter&, const InPlaceFactor&, const std::vector<FactorIndexed>& comparisons);

/// Writes the addresses of a left factor's rows from `into` on; `zeros` for a row that the mask hides. `live`: the number of first rows that
/// are needed; null: all.
void write_row_addresses(Emitter&, const InPlaceFactor&, Value* live, Value* zeros, Value* into);

/// The address of the first row of a factor whose rows are evenly spaced, and the bytes from each to the next.
struct EvenRows {
  Value *first, *distance;
};
EvenRows even_rows(Emitter&, OpId load);

}  // namespace tilewright::backend::host
