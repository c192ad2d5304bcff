// Contractions: loops that compute factors and multiply them into accumulators, and do nothing else.
//
//   for k = 0 to K step 32 (%sum)          for each block of 8 iterations:
//     a = load rows; b = load columns        for each iteration: compute b; note where the rows of a lie
//     sum = dot a, b, %sum                   for each register tile: load sums; add the products of 8 iterations; store sums
//
// The accumulators stay in registers over the products of a block, and a factor that can be read in memory is not copied.
#pragma once
#include <optional>

#include "backend/host/evaluation_plan.h"

namespace tilewright::backend::host {

/// None if the loop (a for) is not a contraction. Requires that the plan has chosen all schedules.
std::optional<Contraction> find_contraction(const Function&, const EvaluationPlan&, const MemoryAxes&, OpId loop);

/// The right factor of a dot outside of contractions, if it can be read in memory: the accumulators have few rows, the factor is a load of the
/// dot's block that nothing else uses, and nothing between the two writes to memory. None otherwise.
std::optional<InPlaceFactor> find_right_in_memory(const Function&, const EvaluationPlan&, const MemoryAxes&, OpId dot);

/// Accumulators of so few rows are one row of register tiles: a right factor is read once, and best while it is in the first cache.
inline constexpr std::int64_t kFewRows = 8;
/// Accumulators of so few live rows gain more from right factors that are not copied than from panels, which the first register tiles fill; so
/// do more rows if so few columns are live that a right factor has few lines in a row (measured on Emerald Rapids: 16, 32 and 64 rows of 1024;
/// 64x64x64).
inline constexpr std::int64_t kRowsInPlace = 16, kShortRowsInPlace = 64, kShortRow = 64;
/// Rows of memory from this length on are streamed: the processor foresees the lines of each row, which are read side by side in the order
/// in which they lie. It foresees nothing beyond a page.
inline constexpr std::int64_t kStreamedRowBytes = 4096;
/// So many rows are streamed side by side. The first cache has 8 or 12 lines for rows that are pages apart, and the accumulators' rows may be among
/// them (measured on Emerald Rapids: 8 or 16 rows reach the rate of plain reading, 32 lose 5 %, 128 lose 15 to 25 %; on Zen 5, 2026-12-01, 16 rows
/// lose 15 % for one row of accumulators and 30 % for eight).
inline constexpr std::int64_t kStreamedDepth = 8;
/// Whether the products of a dot stream a right factor that is read in memory: few rows, and long rows of the right factor.
bool streams_right(const Function&, OpId dot);
/// The number of iterations in a block of a contraction that reads right factors in memory.
std::int64_t iterations_in_place(const Function&, const Contraction&);

/// The number of iterations in a block of a contraction whose factors in buffers have so many bytes in an iteration.
std::int64_t iterations_in_block(const Function&, const Contraction&, std::int64_t bytes, const ProductInstructions&);

}  // namespace tilewright::backend::host
