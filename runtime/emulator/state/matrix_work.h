// What wgmma of a warp are at work on.
#pragma once
#include <utility>
#include <vector>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

/// What wgmma do for a warp. Groups are counted from 1, in step with the other warps of the warpgroup.
struct MatrixWork {
  u32 committed = 0, done = 0;  // groups
  u64 issued = 0;               // wgmma
  u64 trace = 0;                // of what the group that is not committed yet consists of
  bool has_fenced = false;
  // Of each register that wgmma works on: the group and the instruction that use it, the shape if that accumulates in it, 1 + the other
  // instruction that touched it since the last fence, and the register that it is a copy of.
  std::vector<u32> busy, user, shape, touched, origin;
  bool any_touched = false;

  /// As new, but for the memory that it has.
  void reset() {
    MatrixWork made;
    for (auto each : {&MatrixWork::busy, &MatrixWork::user, &MatrixWork::shape, &MatrixWork::touched, &MatrixWork::origin}) {
      (made.*each).swap(this->*each);
      (made.*each).clear();
    }
    *this = std::move(made);
  }
};

}  // namespace tilewright::rt::emulator
