// Counts the work of all programs of a kernel, with the tiles and the parts of its loop that the emitter will choose.
#pragma once
#include "passes/fusion/plan/loop_plan.h"
#include "passes/fusion/tiles/footprint.h"
#include "passes/fusion/tiles/tiling.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::fusion {

struct Work {
  double read_bytes = 0, written_bytes = 0;  // each tensor counted once
  double reread_bytes = 0;                   // beyond read_bytes, because several programs read the same elements
  double spilled_bytes = 0;                  // written and read because there are too few registers
  double matrix_flops = 0, flops = 0;
  double exponentials = 0;         // a logarithm counts as one, a sine as four: transcendental.h
  double repeated_operations = 0;  // flops and exponentials for values that another program computes as well

  // Other work that takes time.
  int operand_bits = 64;             // bits of the narrowest operands of a product
  double idle_flops = 0;             // flops that products with few rows leave unused: they take as long with more rows
  double precision_seconds = 0;      // additional time of products that need more accuracy than one instruction has
  double exponentials_of_scans = 0;  // the time of scans, and of reductions inside of products, beyond their operations
  double nearby_bytes = 0;           // bytes that are read again from tensors that a host's first cache holds
  double wasted_bytes = 0;           // bytes that are moved with their cache line, and not used
  double copied_bytes = 0;           // bytes of the operands of products inside of a host's loop
  double walked_bytes = 0;           // bytes that programs read in reductions along axes over which they are distributed
};

/// The footprint is that of the tiling's sizes. rows: the axes that it counts with a typical extent.
Work count_work(const LoopPlan&, const Tiling&, ExprBuilder&, const ir::TargetDesc&, const Footprint&, const AxisSet& rows);

}  // namespace tilewright::passes::fusion
