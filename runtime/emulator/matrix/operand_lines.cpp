// Finds the lines of an operand from its matrix descriptor.
#include "runtime/emulator/matrix/operand_lines.h"

#include "runtime/emulator/matrix/core_matrix.h"
#include "runtime/emulator/matrix/descriptor.h"

namespace tilewright::rt::emulator {
namespace {

static_assert(SharedLines::kLineBytes == CoreMatrix::kLineBytes);

OperandLines lines_of(u64 descriptor, std::size_t first_row, std::size_t rows, bool transposed) {
  const MatrixDescriptor at(descriptor);
  OperandLines found;
  found.lines.reserve(2 * rows);
  for (std::size_t first = first_row; first < first_row + rows; first += CoreMatrix::kLines)
    for (std::size_t half = 0; half < 2; ++half)
      for (std::size_t l = 0; l < CoreMatrix::kLines; ++l)
        found.lines.push_back(
            static_cast<u32>(transposed ? at.chunk_across(CoreMatrix::kLines * half + l, first) : at.chunk_along_k(first + l, half)));
  std::vector<SharedSpan> spans;
  for (const u32 line : found.lines) spans.push_back({line, CoreMatrix::kLineBytes});
  found.set = SharedLines(spans);
  return found;
}

}  // namespace

const OperandLines& OperandLayouts::find(u64 descriptor, std::size_t first_row, std::size_t rows, bool transposed) {
  if (entries_.empty()) entries_.resize(kEntries);
  const u64 key = descriptor ^ u64 { first_row } << 18 ^ u64 { rows } << 50 ^ u64 { transposed };
  Entry& entry = entries_[(key * 0x9e3779b97f4a7c15u >> 32) % kEntries];
  if (entry.descriptor != descriptor || entry.first_row != first_row || entry.rows != rows || entry.transposed != transposed)
    entry = {descriptor, first_row, rows, transposed, lines_of(descriptor, first_row, rows, transposed)};
  return entry.lines;
}

}  // namespace tilewright::rt::emulator
