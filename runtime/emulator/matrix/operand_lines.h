// Where a matrix descriptor finds the lines of an operand.
#pragma once
#include <cstddef>
#include <vector>

#include "runtime/emulator/shadow/shared_shadow.h"

namespace tilewright::rt::emulator {

/// Offsets from a page of shared memory: moved by pages, an operand has the same lines, because swizzles repeat.
struct OperandLines {
  std::vector<u32> lines;  // of 16 bytes, 8 for each core matrix: of 8 rows the first half of k, then the second
  SharedLines set{{}};     // of them
};

/// Those of the last descriptors, of which a kernel has few when their page is left out.
class OperandLayouts {
 public:
  /// Of a descriptor whose address is in the first page. Rows are those of a, or the columns of b. `transposed`: what follows each other in
  /// memory are rows, and not steps along k. Valid until the next call.
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
