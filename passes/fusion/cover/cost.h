// Estimates how long a kernel takes, to choose between ways to divide formulas into kernels.
//
// What counts is what the processor with the most programs does: bytes that it moves, matrix products, other arithmetic, exponentials; then
// the bytes that memory must move altogether, and launches. Tiles and the division of loops are those that the emitter will choose.
#pragma once
#include <string>

#include "passes/fusion/plan/plan.h"
#include "passes/fusion/tiles/tiling.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::fusion {

/// Whether a processor takes as long for an op as for several additions, and longer than to read its result.
bool is_transcendental(ir::OpKind);

struct KernelCost {
  double read_bytes = 0, written_bytes = 0;  // each tensor once
  double reread_bytes = 0;                   // what programs read beyond that
  double spilled_bytes = 0;                  // what they write and read because registers are few
  double matrix_flops = 0, flops = 0, exponentials = 0;
  double accumulator_bytes = 0;  // of one program
  double programs = 1;
  double parts = 1;  // into which programs divide the loop, and a second kernel merges
  bool fits = true;
  double seconds = 0;
  /// The terms, in one line.
  std::string text() const;
};

/// With batch_invariant the same for every number of rows: of positions along axes of the outputs that no reduction binds.
KernelCost estimate(const Plan&, const Tiling&, ExprBuilder&, const ir::TargetDesc&, const ProgramOptions& = {});

}  // namespace tilewright::passes::fusion
