// Estimates how long a kernel takes, to choose between alternative divisions of formulas into kernels.
//
// The estimate is the time of the processor with the most programs (bytes that it moves, matrix products, other arithmetic, exponentials:
// work.h), the bytes that memory must move in total, and launches. Tiles and the division of loops are those that the emitter will choose.
#pragma once
#include <string>

#include "passes/fusion/cover/work.h"
#include "passes/fusion/options.h"
#include "passes/fusion/plan/loop_plan.h"
#include "passes/fusion/tiles/tiling.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::fusion {

struct KernelCost : Work {
  double accumulator_bytes = 0;  // the bytes of the accumulators of one program
  double programs = 1;
  double parts = 1;  // the number of parts into which programs divide the loop; a second kernel merges them
  /// Whether a program has room for one row of accumulators (row_fits_on_chip), for the axes that it holds whole and for its tiles of
  /// accumulators, for the operands of products (fit_operands), and no tile exceeds tile IR (fit_tiling). Other values in registers that are
  /// too many are spilled, and take time.
  bool fits = true;
  double seconds = 0;
  double seconds_if_large = 0;  // the seconds with symbols of kLargeExtent: they show work that grows faster than the data
  /// Whether most operations are repetitions. The estimate takes repeated operations for as fast as others, but they are slower: a loop in
  /// which each program computes the same values has small tiles beside it.
  bool repeats_most() const { return 2 * repeated_operations > matrix_flops + flops + exponentials; }
  /// The terms of the estimate, in one line.
  std::string text() const;
};

/// The cost by which alternatives are chosen. With batch_invariant it does not depend on the number of rows (plan_rows.h): other
/// kernels would add in another order.
KernelCost estimate(const LoopPlan&, const Tiling&, ExprBuilder&, const ir::TargetDesc&, const FusionOptions& = {});

/// The estimate of a report, in one line: with batch_invariant, too, that of the number of rows that the plan has.
std::string estimate_text(const LoopPlan&, const Tiling&, ExprBuilder&, const ir::TargetDesc&, FusionOptions);

/// The seconds if each symbol has this value, or the nearest one within its bounds.
double seconds_at(double of_symbols, const LoopPlan&, const Tiling&, ExprBuilder&, const ir::TargetDesc&, const FusionOptions&);

}  // namespace tilewright::passes::fusion
