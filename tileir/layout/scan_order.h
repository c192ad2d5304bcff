// The order in which a scan combines the elements of a distributed tile. Lowering and interpreter both follow it.
#pragma once
#include "tileir/layout/axis_order.h"

namespace tilewright::ir {

/// The axis, in scan order (from the far end if it is reversed), consists of chunks of warps of lanes of runs:
///   1. Runs: each thread scans each of its runs; the last element is the run's total.
///   2. Lanes: in rounds i = 0, 1, ..., a lane with bit i set combines the total of the last lane of the half before it with its own.
///   3. Warps: the totals of warps 0, 1, 2, ... of a chunk are combined in order.
///   4. Chunks: the total of all chunks before is combined with that of this chunk.
///   5. Elements: (chunks before, combined with warps before in this chunk), combined with lanes before in this warp, is the prefix of a
///      run; each element of the run is combined with it. Parts that do not exist are left out.
struct ScanOrder {
  int run = 0, lanes = 0, warps = 0, chunks = 0;  // log2
};

inline ScanOrder scan_order(const AxisOrder& p) {
  return {static_cast<int>(p.low_registers.size()), static_cast<int>(p.lanes.size()), static_cast<int>(p.warps.size()),
          static_cast<int>(p.high_registers.size())};
}

}  // namespace tilewright::ir
