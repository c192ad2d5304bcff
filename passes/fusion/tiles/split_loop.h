// A loop that several programs divide among them: the number of parts, and where the states of the parts are in memory.
#pragma once
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "passes/fusion/tiles/tile_sizes.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::fusion {

struct SplitLoop {
  Axis part = nullptr;                             // its extent is the number of parts, a power of two
  std::vector<std::pair<int, Expr>> accumulators;  // each with the memory element that holds it: over `part` and its own axes
  std::vector<std::pair<Expr, Expr>> rolling_shifts;
  std::vector<std::pair<Expr, Expr>> fixed_shifts;  // over their axes: the same in all parts

  std::int64_t parts() const { return part->extent.value(); }
  std::vector<Expr> elements() const;
};

/// Whether the plan's loop can be divided: it has one pass, and no output is written inside of the loop.
bool can_split(const LoopPlan&);

struct SplitLimits {
  int processors = 1;  // the number of programs that run at once
  std::string processor_name = {};
  double least_bytes_of_two = INFINITY;  // divides a loop in two if a program reads this much; in four or more with less
  std::int64_t least_side = 0;           // how far tiles may shrink for more programs if a loop is not divided; 0: they do not
  bool may_divide = true;
  bool is_batch_invariant = false;
  std::uint64_t max_workspace = UINT64_MAX;
  // The bytes that a GPU moves in a second: one multiprocessor and the memory. 0: a host, whose parts are bounded by thresholds alone.
  double processor_bytes = 0, memory_bytes = 0;
};

SplitLimits split_limits(const ir::TargetDesc&);

/// The most bytes of states that a program of the kernel that merges them reads.
double bytes_of_merge(double state_bytes, std::int64_t parts);

/// The number of parts into which a loop is divided; 1: it is not divided.
struct SplitChoice {
  std::int64_t parts = 1;
  std::string reason;
};
/// Makes tiles smaller if that, instead of dividing the loop, gives each processor a program.
SplitChoice choose_split(ExprBuilder&, const LoopPlan&, TileSizes&, const SplitLimits&);

/// The tiles of the kernel that merges states, and how many states it merges at a time.
TileSizes merge_tiles(const LoopPlan&, const TileSizes& of_parts, std::int64_t parts, std::int64_t& at_once);

/// Makes the tensors of the states. `name`: returns a new name for the state of a reduction, or of the value behind a shift reference.
SplitLoop split_loop(ExprBuilder&, const LoopPlan&, const std::vector<Axis>& order, std::int64_t parts,
                     const std::function<std::string(Expr)>& name);

}  // namespace tilewright::passes::fusion
