// Divides the work of programs by the rates of a processor.
#include "passes/fusion/cover/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "passes/fusion/amount_text.h"
#include "passes/fusion/plan/best_plan.h"
#include "passes/fusion/thresholds.h"
#include "passes/fusion/tiles/footprint.h"
#include "passes/fusion/tiles/plan_rows.h"
#include "passes/fusion/tiles/split_loop.h"
#include "tileir/target/machine_facts.h"

namespace tilewright::passes::fusion {

namespace {

// Whether an extent of the plan's outputs or reductions has symbols.
bool has_symbols(const LoopPlan& plan) {
  const auto has = [](Axis a) { return !a->extent.is_constant(); };
  const std::vector<Axis> bound = bound_axes(plan.outputs);
  return std::any_of(bound.begin(), bound.end(), has) || std::any_of(plan.outputs.begin(), plan.outputs.end(), [&](const KernelOutput& o) {
           return std::any_of(o.value->axes.begin(), o.value->axes.end(), has);
         });
}

class Estimator {
 public:
  // of_symbols: the value that symbols have, within their bounds.
  Estimator(const LoopPlan& plan, const Tiling& tiling, ExprBuilder& b, const ir::TargetDesc& target, const FusionOptions& options,
            double of_symbols)
      : plan_(plan),
        b_(b),
        target_(target),
        facts_(ir::machine_facts(target)),
        tiling_(tiling),
        tiles_(tiling.sizes),
        rows_(options.batch_invariant ? rows_of(plan) : AxisSet()),
        footprint_(plan, tiling.sizes, rows_, of_symbols) {}

  KernelCost run() {
    static_cast<Work&>(cost_) = count_work(plan_, tiling_, b_, target_, footprint_, rows_);
    cost_.programs = footprint_.programs();
    cost_.accumulator_bytes = 4 * footprint_.accumulator_words();
    cost_.parts = static_cast<double>(tiling_.split.parts);
    cost_.fits = fits();
    cost_.seconds = seconds();
    return cost_;
  }

 private:
  bool fits() const {
    // An axis that a program holds whole must fit for every value of its symbols.
    const bool payload_fits =
        std::all_of(tiles_.payload.begin(), tiles_.payload.end(), [](const auto& axis) { return axis.second <= kLongestPayload; });
    const bool accumulators_fit = cost_.accumulator_bytes <= facts_.accumulator_bytes;
    return row_fits_on_chip(plan_) && payload_fits && accumulators_fit && tiling_.operands_fit && tiling_.is_within_ir;
  }

  double seconds() const {
    const double programs = footprint_.most_programs() * cost_.parts, processors = target_.processors;
    // The work of the busiest processor.
    const double share =
        std::max(std::ceil(programs / processors) / programs, target_.is_gpu() ? 0 : footprint_.largest_share() / cost_.parts);
    const double matrix = facts_.matrix_flops(std::min(cost_.operand_bits, 32) / 8);
    const double compute = (cost_.matrix_flops + cost_.idle_flops) / matrix + cost_.precision_seconds + cost_.flops / facts_.flops +
                           (cost_.exponentials + cost_.exponentials_of_scans) / facts_.exponentials;
    const bool merges_on_gpu = cost_.parts > 1 && target_.is_gpu();
    const double states = merges_on_gpu ? footprint_.state_bytes() : 0;
    const double moved = cost_.read_bytes + cost_.written_bytes + cost_.wasted_bytes + 2 * states * footprint_.programs() * cost_.parts;
    const double nearby = target_.is_gpu() ? 0 : (1 - kOfNearby) * cost_.nearby_bytes;
    const double memory =
        std::max(moved / facts_.memory_bytes, share * (moved + cost_.reread_bytes - nearby + cost_.spilled_bytes) / facts_.cache_bytes);
    const double walked = target_.is_gpu() ? 0 : (kOfWalkingOnHost - 1) * cost_.walked_bytes / facts_.cache_bytes;
    const double work = ir::overlapped_seconds(memory + share * walked, share * compute) +
                        share * (kOfFar * far_bytes() + kOfCopies * cost_.copied_bytes) / facts_.cache_bytes;
    const double to_share = processors > 1 ? facts_.share_seconds : 0;
    const double launch = facts_.launch_seconds + (programs > 1 ? to_share : 0);
    const double merge = merges_on_gpu ? bytes_of_merge(states, tiling_.split.parts) / facts_.cache_bytes : 0;
    return work + launch + merge + (cost_.parts > 1 ? facts_.launch_seconds + to_share : 0);
  }

  // The bytes that programs of a host read again from beyond the caches of a processor: all reread bytes if one pass of a program reads
  // more than the caches hold. The processor waits for these bytes, also beside a product.
  double far_bytes() const {
    if (target_.is_gpu()) return 0;
    const double of_pass = (cost_.read_bytes + cost_.reread_bytes) / (cost_.programs * cost_.parts * std::max(plan_.passes, 1));
    return of_pass < kBytesOfCaches ? 0 : cost_.reread_bytes;
  }

  const LoopPlan& plan_;
  ExprBuilder& b_;
  const ir::TargetDesc& target_;
  const ir::MachineFacts facts_;
  const Tiling& tiling_;
  const TileSizes& tiles_;
  const AxisSet rows_;  // axes that count with a typical extent in place of the actual one
  const Footprint footprint_;
  KernelCost cost_;
};

}  // namespace

KernelCost estimate(const LoopPlan& plan, const Tiling& tiling, ExprBuilder& b, const ir::TargetDesc& target,
                    const FusionOptions& options) {
  KernelCost cost = Estimator(plan, tiling, b, target, options, kTypicalExtent).run();
  cost.seconds_if_large = has_symbols(plan) ? Estimator(plan, tiling, b, target, options, kLargeExtent).run().seconds : cost.seconds;
  return cost;
}

double seconds_at(double of_symbols, const LoopPlan& plan, const Tiling& tiling, ExprBuilder& b, const ir::TargetDesc& target,
                  const FusionOptions& options) {
  return Estimator(plan, tiling, b, target, options, of_symbols).run().seconds;
}

std::string estimate_text(const LoopPlan& plan, const Tiling& tiling, ExprBuilder& b, const ir::TargetDesc& target, FusionOptions options) {
  options.batch_invariant = false;
  return Estimator(plan, tiling, b, target, options, kTypicalExtent).run().text();
}

std::string KernelCost::text() const {
  std::string all = fmt::format("{} through memory", bytes_text(read_bytes + written_bytes));
  if (reread_bytes > 0) all += fmt::format(", {} again from caches", bytes_text(reread_bytes));
  if (spilled_bytes > 0) all += fmt::format(", {} of spilled registers", bytes_text(spilled_bytes));
  if (matrix_flops > 0) all += fmt::format(", {} in products", flops_text(matrix_flops));
  all += fmt::format(", {} {}", flops_text(flops), matrix_flops > 0 ? "elsewhere" : "of arithmetic");
  if (exponentials > 0) all += fmt::format(", {} exponentials", count_text(exponentials));
  if (accumulator_bytes > 0) all += fmt::format(", {} of accumulators in each program", bytes_text(accumulator_bytes));
  return all + fmt::format(": about {} in {:.0f} program{}", time_text(seconds), programs * parts, programs * parts == 1 ? "" : "s") +
         (fits ? "" : "; does not fit");
}

}  // namespace tilewright::passes::fusion
