// Where a matrix descriptor finds the lines of an operand.
#pragma once
#include <cstddef>
#include <vector>

#include "runtime/emulator/shared_span.h"

namespace tilewright::rt::emulator {

/// Offsets from a multiple of kPeriod bytes of shared memory: moved by as much, an operand has the same lines, because swizzles repeat.
struct OperandLines {
  static constexpr u64 kPeriod = 1024;

  std::vector<u32> lines;         // of 16 bytes, 8 for each core matrix: of 8 rows the first half of k, then the second
  std::vector<SharedSpan> spans;  // the same, put together where they lie together
  u32 end = 0;                    // of the last line
};

/// Those of the last descriptors, of which a kernel has few when their period is left out.
class OperandLayouts {
 public:
  /// Rows are those of a, or the columns of b. `transposed`: what follows each other in memory are rows, and not steps along k. Valid
  /// until the next call.
  const OperandLines& find(u64 descriptor, std::size_t first_row, std::size_t rows, bool transposed);

 private:
  static constexpr std::size_t kEntries = 64;
  struct Entry {
    u64 descriptor = 0;
    std::size_t first_row = 0, rows = 0;  // 0: none
    bool transposed = false;
    OperandLines lines;
  };
  std::vector<Entry> entries_;  // empty until there is one
};

}  // namespace tilewright::rt::emulator
