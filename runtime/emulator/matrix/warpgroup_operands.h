// Operands b of wgmma as numbers, which the four warps of a warpgroup multiply by one after the other.
#pragma once
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "runtime/emulator/matrix/pending_products.h"
#include "runtime/emulator/shadow/shared_shadow.h"

namespace tilewright::rt::emulator {

struct SharedColumns {
  u64 issued = 0;  // which wgmma of the warpgroup, from 1
  u64 descriptor = 0;
  u32 instruction = 0;
  std::optional<EngineRead> read;  // where reads are checked, and there is nothing to find again
  Columns columns;
};

/// Those of the wgmma that were issued last.
class WarpgroupOperands {
 public:
  SharedColumns& at(u64 issued) {
    last_.resize(kMost);
    return last_[issued % kMost];
  }
  void clear() {
    for (SharedColumns& columns : last_) columns.issued = 0;
  }
  /// Those of the same wgmma of this warpgroup, whichever it was, that read what there is in the block's memory now. Null if there are
  /// none.
  const SharedColumns* find(u32 instruction, u64 descriptor, u64 writes) const {
    const auto is_same = [&](const SharedColumns& columns) {
      return columns.issued != 0 && columns.instruction == instruction && columns.descriptor == descriptor && columns.read &&
             columns.read->writes == writes;
    };
    const auto found = std::ranges::find_if(last_, is_same);
    return found != last_.end() ? &*found : nullptr;
  }

 private:
  static constexpr std::size_t kMost = 4;

  std::vector<SharedColumns> last_;
};

}  // namespace tilewright::rt::emulator
