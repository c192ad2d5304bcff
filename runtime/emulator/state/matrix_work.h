// A warp's unfinished wgmma, and the state of the registers that they use.
#pragma once
#include <utility>
#include <vector>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

/// The state of a warp's wgmma. Commit groups are numbered 1, 2, ..., equally in all warps of the warpgroup.
struct MatrixWork {
  u32 committed = 0;        // the last committed group
  u32 done = 0;             // the last group that was waited for; it and all earlier groups are complete
  u64 issued = 0;           // number of wgmma so far
  u64 trace = 0;            // a hash of the instructions in the uncommitted group, by which the warps of the warpgroup are compared
  bool has_fenced = false;  // a wgmma.fence was executed
  // Indexed by register that a wgmma of the kernel uses, or to which `mov` copies such a register; empty until the first wgmma, and if
  // registers are not checked:
  std::vector<u32> busy;     // the group of the last wgmma that uses it; the register is in use while busy > done
  std::vector<u32> user;     // the index of that wgmma
  std::vector<u32> shape;    // its shape if the register is an accumulator; 0: an operand, which is only read
  std::vector<u32> touched;  // 1 + the index of another instruction that accessed it since the last fence; 0: none
  std::vector<u32> origin;   // the register of which it is a copy; its own number if it is not a copy
  bool any_touched = false;  // whether `touched` may contain nonzero values

  /// Resets everything, except that the vectors keep their capacity.
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
