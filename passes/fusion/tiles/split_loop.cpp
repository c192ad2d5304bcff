// Decides whether a loop is divided, and lays out the states of its parts.
#include "passes/fusion/tiles/split_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/extents.h"
#include "passes/fusion/expr/stored_tensor.h"
#include "passes/fusion/thresholds.h"
#include "passes/fusion/tiles/choose_tiles.h"
#include "passes/fusion/tiles/loop_bounds.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;

std::int64_t power_of_two_at_most(double x) { return x < 1 ? 1 : static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(x))); }

// The gain and the cost of dividing a loop.
class SplitCost {
 public:
  SplitCost(const LoopPlan& plan, const TileSizes& sizes) : plan_(plan), sizes_(sizes) {}

  double programs() const {
    double product = 1;
    for (const auto& [axis, size] : sizes_.grid) product *= std::ceil(estimated_extent(axis->extent) / static_cast<double>(size));
    return product;
  }
  double tiles() const { return estimated_extent(plan_.loop->extent) / static_cast<double>(sizes_.loop); }
  // The steps of the loop, including those of inner loops.
  double steps() const {
    double product = tiles();
    for (const auto& [axis, inner] : sizes_.inner)
      if (inner.is_looped) product *= std::ceil(estimated_extent(axis->extent) / static_cast<double>(inner.size));
    return product;
  }

  // The bytes that one program reads in its whole loop.
  double bytes_of_loop() const {
    ExprSet seen;
    std::vector<Expr> loads;
    for (int i : plan_.states[0].accumulators) collect(plan_.accumulators[static_cast<std::size_t>(i)].body, ExprKind::load, seen, loads);
    double bytes = 0;
    for (Expr e : loads)
      if (e->axes.contains(plan_.loop))
        bytes += elements(e->axes.without({plan_.loop})) * estimated_extent(plan_.loop->extent) * ir::bytes(e->tensor->element);
    return bytes;
  }

  double bytes_of_state() const {
    double bytes = 0;
    for (int i : plan_.states[0].accumulators) {
      const Accumulator& a = plan_.accumulators[static_cast<std::size_t>(i)];
      bytes += elements(a.axes) * ir::bytes(a.element());
    }
    return bytes;
  }

  // The bytes of all states of one part, for the longest axes that there can be. An axis without a bound counts with its typical extent: the
  // run compares the bytes of its extents with the most that there may be.
  double most_bytes_of_states() const {
    double bytes = 0;
    const auto add = [&](const AxisSet& axes, ir::Element type) {
      double product = ir::bytes(type);
      for (Axis x : axes) product *= is_bounded(x->extent) ? static_cast<double>(x->extent.greatest()) : estimated_extent(x->extent);
      bytes += product;
    };
    for (int i : plan_.states[0].accumulators) {
      const Accumulator& a = plan_.accumulators[static_cast<std::size_t>(i)];
      add(a.axes, a.element());
    }
    for (Expr s : plan_.states[0].rolling_shifts) add(s->axes, s->element);
    return bytes;
  }

 private:
  // The number of elements along these axes that a program handles, at once or in turn.
  double elements(const AxisSet& axes) const {
    double product = 1;
    for (Axis a : axes) {
      const auto tile = sizes_.grid.find(a);
      product *= tile != sizes_.grid.end() ? static_cast<double>(tile->second) : estimated_extent(a->extent);
    }
    return product;
  }

  static bool is_bounded(const Dim& extent) { return extent.greatest() != INT64_MAX; }

  const LoopPlan& plan_;
  const TileSizes& sizes_;
};

SplitChoice divided(ExprBuilder& b, const LoopPlan& plan, const TileSizes& sizes, const SplitLimits& limits) {
  const SplitCost cost(plan, sizes);
  const double bytes = cost.bytes_of_loop();
  if (bytes < kLeastSplitBytes) return {};
  // With a window, most parts would be empty.
  for (const LoopBound& bound : loop_bounds(b, plan, plan.states[0]))
    if (!bound.is_upper) return {};
  // States are written and read again: at most this share of what the loop reads.
  const double most = std::min({bytes / kLeastBytesOfPart, cost.tiles(), cost.steps() / kLeastStepsOfPart,
                                kGreatestShareOfStates * bytes / (2 * cost.bytes_of_state())});
  // If other rows must not matter, the number of rows must not matter either.
  const double wanted =
      limits.is_batch_invariant ? std::min<double>(kInvariantParts, limits.processors) : limits.processors / cost.programs();
  const std::int64_t parts = power_of_two_at_most(std::min(most, wanted));
  const std::int64_t least_parts = bytes < limits.least_bytes_of_two ? 4 : 2;
  if (parts < least_parts || static_cast<double>(parts) * cost.most_bytes_of_states() > static_cast<double>(limits.max_workspace))
    return {};
  const std::string why = limits.is_batch_invariant
                              ? std::string("as many for every number of rows, since bits must not depend on it")
                              : fmt::format("{:.0f} program{} would leave most of {} {} idle", cost.programs(),
                                            cost.programs() == 1 ? "" : "s", limits.processors, limits.processor_name);
  return {parts, fmt::format("the loop over {} is divided into {} parts: {}", plan.loop->label, parts, why)};
}

}  // namespace

std::vector<Expr> SplitLoop::elements() const {
  std::vector<Expr> all;
  for (const auto& [i, element] : accumulators) all.push_back(element);
  for (const auto* shifts : {&rolling_shifts, &fixed_shifts})
    for (const auto& [shift, element] : *shifts) all.push_back(element);
  return all;
}

bool can_split(const LoopPlan& plan) {
  if (!plan.loop || plan.passes != 1 || plan.states[0].accumulators.empty()) return false;
  for (const KernelOutput& o : plan.outputs)
    if (o.has(plan.loop)) return false;
  return std::none_of(plan.accumulators.begin(), plan.accumulators.end(), [](const Accumulator& a) {
    return a.combine == Combine::argmax || a.combine == Combine::argmin || a.combine == Combine::combine;
  });
}

SplitLimits split_limits(const ir::TargetDesc& target) {
  if (target.is_gpu()) return {.processors = target.processors, .processor_name = "multiprocessors"};
  // A thread reads faster from memory by whole rows than by tiles of rows; from a cache, tiles of any shape are equally fast.
  return {.processors = target.processors,
          .processor_name = "threads",
          .least_bytes_of_two = kLeastBytesOfTwoParts,
          .least_side = kLeastSideForThreads};
}

SplitChoice choose_split(ExprBuilder& b, const LoopPlan& plan, TileSizes& sizes, const SplitLimits& limits) {
  if (limits.may_divide && can_split(plan))
    if (SplitChoice choice = divided(b, plan, sizes, limits); choice.parts > 1) return choice;
  if (plan.loop && limits.least_side > 0 && !limits.is_batch_invariant)
    while (SplitCost(plan, sizes).programs() < limits.processors) {
      std::int64_t* largest = largest_grid_tile(sizes);
      if (!largest || *largest <= limits.least_side) break;
      *largest /= 2;
    }
  return {};
}

SplitLoop split_loop(ExprBuilder& b, const LoopPlan& plan, const std::vector<Axis>& order, std::int64_t parts,
                     const std::function<std::string(Expr)>& name) {
  ExprPool& pool = b.pool();
  SplitLoop split;
  std::string part = "part of " + plan.loop->name;
  while (pool.find_axis(part)) part += "'";
  split.part = pool.axis(part, parts);
  const auto element = [&](Expr of, const AxisSet& axes, bool has_parts, ir::Element type) {
    TensorInfo info;
    info.name = name(of);
    info.element = type;
    std::vector<Axis> all;
    if (has_parts) all.push_back(split.part);
    for (Axis a : order)
      if (axes.contains(a)) all.push_back(a);
    std::vector<Expr> index;
    for (Axis a : all) info.shape.push_back(a->extent), index.push_back(b.index(a));
    info.strides = row_major(info.shape);
    return b.load(pool.add_tensor(std::move(info)), std::move(index));
  };
  const PassState& state = plan.states[0];
  for (int i : state.accumulators) {
    const Accumulator& a = plan.accumulators[static_cast<std::size_t>(i)];
    split.accumulators.emplace_back(i, element(a.reduce, a.axes, true, a.element()));
  }
  for (Expr s : state.rolling_shifts) split.rolling_shifts.emplace_back(s, element(s->operands[0], s->axes, true, s->element));
  for (Expr s : state.fixed_shifts) split.fixed_shifts.emplace_back(s, element(s->operands[0], s->axes, false, s->element));
  return split;
}

TileSizes merge_tiles(const LoopPlan& plan, const TileSizes& sizes, std::int64_t parts, std::int64_t& at_once) {
  TileSizes smaller = sizes;
  const auto cells = [&] {
    double most = 1;
    for (int i : plan.states[0].accumulators) {
      double product = 1;
      for (Axis a : plan.accumulators[static_cast<std::size_t>(i)].axes) {
        const auto tile = smaller.grid.find(a);
        product *= static_cast<double>(tile != smaller.grid.end() ? tile->second : smaller.payload.at(a));
      }
      most = std::max(most, product);
    }
    return most;
  };
  // Registers hold the states of a merge; rows that do not fit at the same time go to other programs.
  while (cells() * static_cast<double>(parts) > kMostMergedElements) {
    std::int64_t* largest = largest_grid_tile(smaller);
    if (!largest || *largest == 1) break;
    *largest /= 2;
  }
  at_once = std::min(parts, power_of_two_at_most(kMostMergedElements / cells()));
  return smaller;
}

}  // namespace tilewright::passes::fusion
