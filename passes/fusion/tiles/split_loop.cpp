// Decides whether a loop is divided, and lays out the states of its parts.
#include "passes/fusion/tiles/split_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "passes/fusion/expr/stored_tensor.h"
#include "passes/fusion/plan/loop_label.h"
#include "passes/fusion/thresholds.h"
#include "passes/fusion/tiles/footprint.h"
#include "passes/fusion/tiles/loop_bounds.h"
#include "passes/fusion/tiles/plan_rows.h"
#include "tileir/target/machine_facts.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;

std::int64_t power_of_two_at_most(double x) { return x < 1 ? 1 : static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(x))); }

// The seconds that the parts and their merge take on a GPU, without launches.
double seconds_of_parts(std::int64_t parts, const Footprint& footprint, const SplitLimits& limits) {
  const auto count = static_cast<double>(parts);
  const double bytes = footprint.loop_bytes(), states = footprint.state_bytes();
  const double memory = footprint.programs() * (bytes + 2 * count * states) / limits.memory_bytes;
  const double part = (bytes / count + states) / limits.processor_bytes;
  return std::max(memory, part) + bytes_of_merge(states, parts) / limits.processor_bytes;
}

// With more parts programs read less, and the states of all parts take longer.
std::int64_t fastest_parts(std::int64_t most, const Footprint& footprint, const SplitLimits& limits) {
  std::int64_t fastest = most;
  for (std::int64_t parts = most / 2; parts >= kLeastParts; parts /= 2)
    if (seconds_of_parts(parts, footprint, limits) < seconds_of_parts(fastest, footprint, limits)) fastest = parts;
  return fastest;
}

// Makes a GPU's tiles of the loop shorter, so that there are as many of them as parts.
TileSizes with_tiles(double parts, const LoopPlan& plan, TileSizes sizes, const AxisSet& rows) {
  while (sizes.loop > kLeastOfMatrix && Footprint(plan, sizes, rows).tiles_of_loop() < parts) sizes.loop /= 2;
  return sizes;
}

SplitChoice divided(ExprBuilder& b, const LoopPlan& plan, TileSizes& sizes, const SplitLimits& limits) {
  // If other rows must not matter, the number of rows must not matter either.
  const AxisSet rows = limits.is_batch_invariant ? rows_of(plan) : AxisSet();
  const Footprint footprint(plan, sizes, rows);
  const double bytes = footprint.loop_bytes();
  if (bytes < kLeastSplitBytes) return {};
  // With a window, most parts would be empty.
  for (const LoopBound& bound : loop_bounds(b, plan, plan.states[0]))
    if (!bound.is_upper) return {};
  const bool is_gpu = limits.processor_bytes > 0;
  const double wanted =
      limits.is_batch_invariant ? std::min<double>(kInvariantParts, limits.processors) : limits.processors / footprint.programs();
  const TileSizes shorter = is_gpu ? with_tiles(std::min(bytes / kLeastBytesOfPart, wanted), plan, sizes, rows) : sizes;
  double most = std::min(bytes / kLeastBytesOfPart, Footprint(plan, shorter, rows).tiles_of_loop());
  // States are written and read again: at most this share of what a host's loop reads.
  if (!is_gpu)
    most = std::min({most, footprint.steps_of_loop() / kLeastStepsOfPart, kGreatestShareOfStates * bytes / (2 * footprint.state_bytes())});
  std::int64_t parts = power_of_two_at_most(std::min(most, wanted));
  if (is_gpu) parts = fastest_parts(parts, footprint, limits);
  const std::int64_t least_parts = bytes < limits.least_bytes_of_two ? kLeastParts : 2;
  if (parts < least_parts || static_cast<double>(parts) * footprint.most_bytes_of_states() > static_cast<double>(limits.max_workspace))
    return {};
  sizes.loop = shorter.loop;
  const std::string why = limits.is_batch_invariant
                              ? std::string("as many for every number of rows, since bits must not depend on it")
                              : fmt::format("{:.0f} program{} would leave most of {} {} idle", footprint.programs(),
                                            footprint.programs() == 1 ? "" : "s", limits.processors, limits.processor_name);
  return {parts, fmt::format("the loop over {} is divided into {} parts: {}", loop_label(plan), parts, why)};
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

double bytes_of_merge(double state_bytes, std::int64_t parts) {
  return std::min(static_cast<double>(parts) * state_bytes, 4 * kMostMergedElements);
}

SplitLimits split_limits(const ir::TargetDesc& target) {
  if (target.is_gpu()) {
    const ir::MachineFacts facts = ir::machine_facts(target);
    return {.processors = target.processors,
            .processor_name = "multiprocessors",
            .processor_bytes = facts.cache_bytes,
            .memory_bytes = facts.memory_bytes};
  }
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
    halve_until(sizes, {.least = limits.least_side}, [&] { return Footprint(plan, sizes).programs() >= limits.processors; });
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
  const auto cells = [&] { return static_cast<double>(Footprint(plan, smaller).largest_accumulator()); };
  // Registers hold the states of a merge; rows that do not fit at the same time go to other programs.
  halve_until(smaller, {}, [&] { return cells() * static_cast<double>(parts) <= kMostMergedElements; });
  at_once = std::min(parts, power_of_two_at_most(kMostMergedElements / cells()));
  return smaller;
}

}  // namespace tilewright::passes::fusion
