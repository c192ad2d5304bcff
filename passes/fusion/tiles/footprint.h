// What a kernel occupies with its tiles: its programs, what they read, the steps of its loop and the state that they keep.
#pragma once
#include <cstdint>
#include <vector>

#include "passes/fusion/tiles/tile_sizes.h"

namespace tilewright::passes::fusion {

/// The loads of what outputs compute, each once.
std::vector<Expr> loads_of(const std::vector<KernelOutput>&);

/// Answers for the tiles as they are when a function is called. Counts are of typical extents (extents.h), but for those of the greatest
/// extents that there can be, where an extent without a bound is typical, too.
class Footprint {
 public:
  /// rows: axes that count with a typical extent even if theirs is known, so that no answer depends on the number of rows.
  Footprint(const LoopPlan& plan, const TileSizes& tiles, AxisSet rows = {}) : plan_(plan), tiles_(tiles), rows_(std::move(rows)) {}

  // ---- extents ----
  double extent(Axis) const;
  double extent(const AxisSet&) const;
  /// The positions along these axes that a program handles, at once or in turn.
  double elements(const AxisSet&) const;
  /// The positions along axes of a result or of an operand that a program holds at once; kManyPositions if there are more.
  std::int64_t positions(const AxisSet&) const;
  static constexpr std::int64_t kManyPositions = std::int64_t{1} << 20;
  std::int64_t tile(Axis) const;
  /// The elements that all programs compute of a value with these axes: programs along an axis that it lacks compute it again.
  double evaluations(const AxisSet&) const;

  // ---- programs ----
  double programs() const;
  /// For the greatest extents, which may be unknown: time matters most when they are large.
  double most_programs() const;

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

  const LoopPlan& plan_;
  const TileSizes& tiles_;
  const AxisSet rows_;
};

}  // namespace tilewright::passes::fusion
