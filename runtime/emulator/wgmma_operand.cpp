// Bounds and races of the lines that a matrix descriptor names.
#include "runtime/emulator/wgmma_operand.h"

#include <fmt/format.h>

namespace tilewright::rt::emulator {

constexpr u32 kLineBytes = CoreMatrix::kLineBytes;
constexpr std::size_t kSteps = 16;  // along k, of elements of 16 bits, which alone may be transposed

SharedOperand::SharedOperand(Which which, Warp& warp, const Instruction& i, u64 descriptor, std::size_t first_row, std::size_t rows,
                             bool transposed)
    : which_(which), warp_(warp), i_(i), transposed_(transposed), rows_(rows) {
  const MatrixDescriptor at(descriptor);
  if (at.base_offset != 0)
    report(warp, i, FindingKind::bad_operand, 0,
           [&] { return fmt::format("a matrix descriptor with the base offset {}: only 0 is known here", at.base_offset); });
  u64 last = 0;
  const auto add = [&](u64 address) {
    lines_[count_++] = {static_cast<u32>(address), kLineBytes};
    last = std::max(last, address);
  };
  if (transposed) {
    for (std::size_t k = 0; k < kSteps; ++k)
      for (std::size_t row = first_row; row < first_row + rows; row += 8) add(at.chunk_across(k, row));
  } else {
    for (std::size_t row = first_row; row < first_row + rows; ++row)
      for (std::size_t chunk = 0; chunk < 2; ++chunk) add(at.chunk_along_k(row, chunk));
  }
  check(descriptor, last + kLineBytes);
}

void SharedOperand::check(u64 descriptor, u64 end) {
  Block& block = *warp_.block;
  const bool checks = warp_.worker->launch->check;
  const Accessor by = engine_of(warp_, i_, block, matrix_agent(warp_.index), warp_.matrix.committed + 1);
  if (end <= block.shared_bytes) {
    if (checks) check_races(by, descriptor);
    return;
  }
  for (SharedSpan& line : std::span(lines_.data(), count_)) {
    if (line.offset + kLineBytes <= block.shared_bytes) {
      if (checks) check_shared_reads(by, block, 0, {&line, 1});
      continue;
    }
    report(warp_, i_, FindingKind::out_of_bounds, 0,
           [&] { return fmt::format("16 bytes at byte {} of shared memory, which has {} bytes", line.offset, block.shared_bytes); });
    line.offset = kNowhere;
  }
}

void SharedOperand::check_races(const Accessor& by, u64 descriptor) {
  Block& block = *warp_.block;
  const std::span<const SharedSpan> lines(lines_.data(), count_);
  EngineReads& reads = block.matrix_reads[static_cast<std::size_t>(warp_.index / 4)];
  if (which_ == Which::b && is_read_already(by, block, reads, descriptor)) return;
  check_shared_reads(by, block, 0, lines);
  if (which_ == Which::a) return;
  if (const auto read = as_read(by, block, descriptor, lines)) reads.add(*read);
}

CoreMatrix SharedOperand::core(std::size_t row, std::size_t half) const {
  CoreMatrix matrix;
  for (std::size_t l = 0; l < CoreMatrix::kLines; ++l) {
    const u32 at = lines_[transposed_ ? (8 * half + l) * (rows_ / 8) + row / 8 : 2 * (row + l) + half].offset;
    if (at == kNowhere)
      std::memset(matrix.line(l), 0xff, kLineBytes);
    else
      std::memcpy(matrix.line(l), warp_.block->shared.get() + at, kLineBytes);
  }
  return matrix;
}

}  // namespace tilewright::rt::emulator
