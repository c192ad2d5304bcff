// Counts by tiles and extents.
#include "passes/fusion/tiles/footprint.h"

#include <algorithm>
#include <cmath>

#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

std::vector<Expr> loads_of(const std::vector<KernelOutput>& outputs) {
  ExprSet seen;
  std::vector<Expr> loads;
  for (const KernelOutput& o : outputs) collect(o.value, ExprKind::load, seen, loads);
  return loads;
}

// ---- extents ----

double Footprint::extent(Axis a) const { return rows_.contains(a) ? kTypicalExtent : extent(a->extent); }

double Footprint::extent(const AxisSet& axes) const {
  double product = 1;
  for (Axis a : axes) product *= extent(a);
  return product;
}

double Footprint::elements(const AxisSet& axes) const {
  double product = 1;
  for (Axis a : axes) {
    const auto size = tiles_.grid.find(a);
    product *= size != tiles_.grid.end() ? static_cast<double>(size->second) : extent(a);
  }
  return product;
}

// A reduction may bind an axis with the name of a result's axis; the tile is that of the result's axis.
std::int64_t Footprint::tile(Axis a) const {
  const auto grid = tiles_.grid.find(a);
  return grid != tiles_.grid.end() ? grid->second : tile_of(a, plan_, tiles_);
}

std::int64_t Footprint::positions(const AxisSet& axes) const {
  std::int64_t all = 1;
  for (Axis a : axes) all = std::min(all * std::min(tile(a), kManyPositions), kManyPositions);
  return all;
}

double Footprint::evaluations(const AxisSet& axes, const AxisSet& walked) const {
  double count = extent(axes);
  for (const auto& [axis, size] : tiles_.grid)
    if (!axes.contains(axis) || walked.contains(axis)) count *= programs_along(axis);
  return count;
}

AxisSet Footprint::walked_in(const AxisSet& bound, AxisSet around) const {
  for (const auto& [axis, size] : tiles_.grid)
    if (bound.contains(axis)) around.insert(axis);
  return around;
}

// ---- programs ----

double Footprint::programs_along(Axis a) const { return std::ceil(extent(a) / static_cast<double>(tiles_.grid.at(a))); }

double Footprint::programs() const {
  double product = 1;
  for (const auto& [axis, size] : tiles_.grid) product *= programs_along(axis);
  return product;
}

double Footprint::greatest(Axis a) const { return rows_.contains(a) ? extent(a) : static_cast<double>(a->extent.greatest()); }

double Footprint::most_programs() const {
  double product = 1;
  for (const auto& [axis, size] : tiles_.grid) product *= std::ceil(greatest(axis) / static_cast<double>(size));
  return product;
}

double Footprint::largest_share() const {
  double share = 1;
  for (const auto& [axis, size] : tiles_.grid) share *= std::min(1.0, static_cast<double>(size) / std::max(greatest(axis), 1.0));
  return share;
}

// ---- the loop ----

double Footprint::tiles_of_loop() const { return extent(plan_.loop) / static_cast<double>(tiles_.loop); }

bool Footprint::has_one_tile() const { return plan_.loop && plan_.loop->extent.is_constant() && plan_.loop->extent.value() <= tiles_.loop; }

double Footprint::steps_of_loop() const {
  double product = tiles_of_loop();
  for (const auto& [axis, inner] : tiles_.inner)
    if (inner.is_looped) product *= std::ceil(extent(axis) / static_cast<double>(inner.size));
  return product;
}

double Footprint::loop_bytes() const {
  ExprSet seen;
  std::vector<Expr> loads;
  for (int i : plan_.states[0].accumulators) collect(accumulator(i).body, ExprKind::load, seen, loads);
  double bytes = 0;
  for (Expr e : loads)
    if (e->axes.contains(plan_.loop)) bytes += elements(e->axes.without({plan_.loop})) * extent(plan_.loop) * ir::bytes(e->tensor->element);
  return bytes;
}

// ---- the state ----

double Footprint::state_bytes() const {
  double bytes = 0;
  for (int i : plan_.states[0].accumulators) bytes += elements(accumulator(i).axes) * ir::bytes(accumulator(i).element());
  return bytes;
}

double Footprint::most_bytes_of_states() const {
  double bytes = 0;
  const auto add = [&](const AxisSet& axes, ir::Element type) {
    double product = ir::bytes(type);
    for (Axis a : axes) product *= a->extent.greatest() != INT64_MAX ? static_cast<double>(a->extent.greatest()) : extent(a);
    bytes += product;
  };
  for (int i : plan_.states[0].accumulators) add(accumulator(i).axes, accumulator(i).element());
  for (Expr s : plan_.states[0].rolling_shifts) add(s->axes, s->element);
  return bytes;
}

double Footprint::accumulator_words() const {
  double words = 0;
  for (std::size_t i = 0; i < plan_.accumulators.size(); ++i)
    if (is_read(plan_.reductions, static_cast<int>(i))) words += elements(plan_.accumulators[i].axes);
  return words;
}

std::int64_t Footprint::largest_accumulator() const {
  std::int64_t most = 1;
  for (int i : plan_.states[0].accumulators) most = std::max(most, positions(accumulator(i).axes));
  return most;
}

}  // namespace tilewright::passes::fusion
