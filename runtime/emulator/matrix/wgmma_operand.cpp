// Checks bounds and races of the lines that a matrix descriptor describes, and reads their elements as numbers.
#include "runtime/emulator/matrix/wgmma_operand.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/emulator/matrix/descriptor.h"
#include "runtime/emulator/matrix/packed_panels.h"
#include "runtime/emulator/races/checker_fast.h"
#include "runtime/emulator/state/launch_state.h"
#include "runtime/emulator/state/per_kernel_cache.h"
#include "runtime/emulator/state/report.h"
#include "runtime/emulator/state/warpgroup.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {
namespace {

constexpr u32 kLineBytes = CoreMatrix::kLineBytes;
constexpr int kPoison = 0xff;

constexpr u64 kPageBytes = SharedLines::kPageBytes;

const OperandLines& lines_of(Warp& warp, u64 descriptor, std::size_t first_row, std::size_t rows, bool transposed) {
  const u64 in_page = MatrixDescriptor(descriptor).start % kPageBytes;
  auto& layouts = warp.worker->kernel_cache->operands;
  if (layouts == nullptr) layouts = std::make_shared<OperandLayouts>();
  return layouts->find(MatrixDescriptor::moved_to(descriptor, in_page), first_row, rows, transposed);
}

}  // namespace

SharedOperand::SharedOperand(const Accessor& by, u64 descriptor, std::size_t first_row, std::size_t rows, bool transposed)
    : by_(by),
      block_(*by.warp->block),
      at_(lines_of(*by.warp, descriptor, first_row, rows, transposed)),
      page_(static_cast<u32>(MatrixDescriptor(descriptor).start / kPageBytes)),
      rows_(rows),
      transposed_(transposed),
      base_(block_.shared.get() + page_ * kPageBytes) {
  const MatrixDescriptor at(descriptor);
  if (at.base_offset != 0)
    report(*by.warp, *by.instruction, DiagnosticKind::bad_operand, 0,
           [&] { return fmt::format("a matrix descriptor with the base offset {}: only 0 is known here", at.base_offset); });
  if (!at_.set.are_whole() || ShiftedLines(at_.set, page_).end() > block_.shared_bytes)
    check_lines();
  else if (by.warp->worker->launch->check)
    read_ = check_shared_reads(by, block_, 0, ShiftedLines(at_.set, page_));
  if (at.base_offset != 0) read_.reset();
}

void SharedOperand::check_lines() {
  const u32 end = *std::max_element(at_.lines.begin(), at_.lines.end()) + kLineBytes;
  outside_.assign(end, std::byte{kPoison});
  for (const u32 line : at_.lines) {
    const SharedSpan at{static_cast<u32>(line + page_ * kPageBytes), kLineBytes};
    if (at.offset + kLineBytes > block_.shared_bytes) {
      report(*by_.warp, *by_.instruction, DiagnosticKind::out_of_bounds, 0,
             [&] { return fmt::format("16 bytes at byte {} of shared memory, which has {} bytes", at.offset, block_.shared_bytes); });
      continue;
    }
    if (by_.warp->worker->launch->check) check_shared_reads(by_, block_, 0, {&at, 1});
    std::memcpy(outside_.data() + line, block_.shared.get() + at.offset, kLineBytes);
  }
  base_ = outside_.data();
}

void SharedOperand::unpack(const Unpacker& unpacker, std::size_t half_of_k, RowsOfA& a) const {
  const u32* lines = at_.lines.data();
  for (std::size_t row = 0; row < rows_; row += CoreMatrix::kLines)
    for (std::size_t half = 0; half < 2; ++half, lines += CoreMatrix::kLines)
      transposed_ ? unpacker.rows_across({base_, lines}, row, half * half_of_k, a)
                  : unpacker.rows({base_, lines}, row, half * half_of_k, a);
}

void SharedOperand::unpack(const Unpacker& unpacker, std::size_t half_of_k, std::span<ColumnsOfB> b) const {
  const u32* lines = at_.lines.data();
  for (; !b.empty(); b = b.subspan(half_of_k / ColumnsOfB::kSteps), lines += CoreMatrix::kLines)
    transposed_ ? unpacker.columns_across({base_, lines}, b.data()) : unpacker.columns({base_, lines}, b.data());
}

const ColumnsOfB* packed_b(Warp& warp, const Instruction& i, const Unpacker& unpacker, u64 descriptor, std::size_t columns,
                           std::size_t half_of_k, bool transposed) {
  Block& block = *warp.block;
  auto& panels = block.packed_panels[warp.index / kGroupWarps];
  if (panels == nullptr) panels = std::make_shared<PackedPanels>();
  PackedPanel& panel = panels->at(warp.matrix.issued);
  const Accessor by = engine_of(warp, i, block, matrix_agent(warp.index), warp.matrix.committed + 1);
  const bool is_packed = panel.issued == warp.matrix.issued && panel.descriptor == descriptor && panel.instruction == i.index;
  const bool is_checked = !warp.worker->launch->check || (panel.read && is_read_already(by, block, *panel.read));
  if (is_packed && is_checked) return panel.numbers.data();
  const SharedOperand operand(by, descriptor, 0, columns, transposed);
  panel.numbers.resize(columns / kColumns * 2 * half_of_k / ColumnsOfB::kSteps);
  operand.unpack(unpacker, half_of_k, panel.numbers);
  panel.issued = warp.matrix.issued;
  panel.descriptor = descriptor;
  panel.instruction = i.index;
  panel.read = operand.as_read();
  return panel.numbers.data();
}

}  // namespace tilewright::rt::emulator
