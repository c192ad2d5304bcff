// The lines of shared memory that a matrix descriptor describes.
#pragma once
#include <cstddef>
#include <vector>

#include "runtime/emulator/shadow/shared_shadow.h"

namespace tilewright::rt::emulator {

/// Offsets from a page of shared memory. If an operand moves by whole pages, its lines stay the same, since swizzles repeat.
struct OperandLines {
  std::vector<u32> lines;  // of 16 bytes, 8 for each core matrix: first the first half of k, then the second
  SharedLines set{{}};     // the set of these lines
};

/// The layouts of the last descriptors. Apart from the page, a kernel has few different ones.
class OperandLayouts {
 public:
  /// The layout of a descriptor whose address is in the first page. Rows are those of a, or the columns of b. `transposed`: consecutive
  /// elements in memory are rows, not steps along k. The reference is valid until the next call.
  const OperandLines& find(u64 descriptor, std::size_t first_row, std::size_t rows, bool transposed);

 private:
  static constexpr std::size_t kEntries = 64;
  struct Entry {
    u64 descriptor = 0;
    std::size_t first_row = 0, rows = 0;  // rows is 0 in an unused entry
    bool transposed = false;
    OperandLines lines;
  };
  std::vector<Entry> entries_;  // empty until the first call
};

}  // namespace tilewright::rt::emulator
