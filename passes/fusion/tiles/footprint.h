// The footprint of a kernel with its tiles: its programs, what they read, the steps of its loop and the state that they keep.
#pragma once
#include <cstdint>
#include <vector>

#include "passes/fusion/expr/extents.h"
#include "passes/fusion/thresholds.h"
#include "passes/fusion/tiles/tile_sizes.h"

namespace tilewright::passes::fusion {

/// The loads of what outputs compute, each once.
std::vector<Expr> loads_of(const std::vector<KernelOutput>&);

/// Answers for the tiles as they are when a function is called. Counts are of typical extents (extents.h). Where a comment says "for the
/// greatest extents", they are of the greatest that there can be, and an extent without a bound is a typical one.
class Footprint {
 public:
  /// rows: axes that count with a typical extent even if theirs is known, so that no answer depends on the number of rows.
  /// of_symbols: what counts as typical for a symbol.
  Footprint(const LoopPlan& plan, const TileSizes& tiles, AxisSet rows = {}, double of_symbols = kTypicalExtent)
      : plan_(plan), tiles_(tiles), rows_(std::move(rows)), of_symbols_(of_symbols) {}

  // ---- extents ----
  double extent(Axis) const;
  double extent(const AxisSet&) const;
  double extent(const Dim& d) const { return estimated_extent(d, of_symbols_); }
  /// The positions along these axes that a program handles, at once or in turn.
  double elements(const AxisSet&) const;
  /// The positions along axes of a result or of an operand that a program holds at once; kManyPositions if there are more.
  std::int64_t positions(const AxisSet&) const;
  std::int64_t tile(Axis) const;
  /// The elements that all programs compute of a value with these axes: programs along an axis that it lacks compute it again.
  /// Each program computes all elements along the axes `walked`, even if programs are distributed along them.
  double evaluations(const AxisSet&, const AxisSet& walked = {}) const;
  /// The axes that each program walks inside of a reduction: those of the grid that the reduction, or one around it, binds. Outside of it
  /// the output has the same axes.
  AxisSet walked_in(const AxisSet& bound, AxisSet around) const;

  // ---- programs ----
  double programs() const;
  /// For the greatest extents, which may be unknown: time matters most when they are large.
  double most_programs() const;
  /// The part of the positions along the axes of the grid that the program with the most of them has, for the greatest extents: of 90 rows in
  /// tiles of 64, 64 / 90.
  double largest_share() const;

  // ---- the loop of a program ----
  double tiles_of_loop() const;
  /// Whether one tile is the whole loop, whatever the run's extents are.
  bool has_one_tile() const;
  /// The steps of the loop, including those of inner loops.
  double steps_of_loop() const;
  /// The bytes that a program reads along its loop.
  double loop_bytes() const;

  // ---- the state that a program keeps between the steps of its loop ----
  /// The bytes of the accumulators of the first pass.
  double state_bytes() const;
  /// The bytes of the states of the first pass in all programs, for the greatest extents. An extent without a bound is typical: the run
  /// compares the bytes of its extents with the most that there may be.
  double most_bytes_of_states() const;
  /// The 32-bit words of the accumulators of all passes.
  double accumulator_words() const;
  /// The positions of the largest accumulator of the first pass that a program holds at once.
  std::int64_t largest_accumulator() const;

 private:
  const Accumulator& accumulator(int i) const { return plan_.accumulators[static_cast<std::size_t>(i)]; }
  double programs_along(Axis) const;
  double greatest(Axis) const;

  const LoopPlan& plan_;
  const TileSizes& tiles_;
  const AxisSet rows_;
  const double of_symbols_;
};

}  // namespace tilewright::passes::fusion
