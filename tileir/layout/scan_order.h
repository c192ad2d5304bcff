// The order in which a scan combines a distributed tile: what its code and its reference meaning agree on.
#pragma once
#include "tileir/layout/axis_order.h"

namespace tilewright::ir {

/// The axis as the scan goes along it (from the far end, if it is reversed) is made of chunks of warps of lanes of runs. In this order:
///   1. each run is scanned from its start; the last element is its total
///   2. lanes, in rounds i = 0, 1, ...: where bit i of the lane is set, it takes total(last lane of the half before) with its own
///   3. warps: total(warp 0), with that of warp 1, with that of warp 2, ...
///   4. chunks: the total of all warps of the chunk before, with that of this one
/// and an element at last is what stands before its run with its place in the run, where what stands before it is
/// (all chunks before with all warps before in this one) with all lanes before in this warp, each where there is one.
struct ScanOrder {
  int run = 0, lanes = 0, warps = 0, chunks = 0;  // log2
};

inline ScanOrder scan_order(const AxisOrder& p) {
  return {static_cast<int>(p.low_registers.size()), static_cast<int>(p.lanes.size()), static_cast<int>(p.warps.size()),
          static_cast<int>(p.high_registers.size())};
}

}  // namespace tilewright::ir
